// Why a job waits, behind whom, and when it will probably start; of one that runs, when it will probably end; of one
// that has ended, how long it waited and for what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/core/admission.h"
#include "server/core/jobs/jobs.h"
#include "server/core/run_history.h"
#include "server/core/schedule/scheduler.h"
#include "server/core/types.h"

namespace hotplate::core {

// In hotplate.v1.WaitCause's numbers.
enum class WaitCause {
  kNone = 0,       // it does not wait
  kJobs,           // those that it depends on
  kMemory,         // of a device
  kPlace,          // a lane, or a worker's places
  kOrder,          // others are before it, by priority, fair share or arrival
  kTurn,           // other calls of the same worker
  kAllocationEnd,  // it will not end in time, and is left for the next daemon
  kNextDaemon,     // this one drains
  kJournal,        // it is being written down
  kKind,           // others of its kind: one more at a time would make none of them end sooner
};

struct WhyReport {
  struct Other {
    SeenEntry who;
    JobState state = JobState::kRunning;
    std::string device = {};                         // that it runs on
    std::uint64_t bytes = 0;                         // of the device's memory
    std::optional<nanoseconds> left = std::nullopt;  // until its end, probably
    JobId waits_for = {};                            // of one that waits: the first that it depends on
  };

  JobSnapshot job;
  WallTime now;
  WaitCause cause = WaitCause::kNone;
  std::vector<Other> others;  // that are in its way, the first to end first; the first few of them
  std::size_t others_left_out = 0;
  std::optional<Outlook> memory;  // kMemory
  EntriesAhead ahead;
  std::size_t ahead_in_turn = 0;
  std::string places;                             // kPlace: "a lane of gpu0"
  std::uint32_t most_together = 0;                // kKind: so many run at a time on...
  std::string limited_on;                         // ... this device
  std::optional<nanoseconds> starts_in, ends_in;  // probably, from now
  std::string no_forecast;                        // why neither is known
  std::optional<RunTimes::Estimate> run_time;
  std::optional<nanoseconds> allocation_left;
  nanoseconds waited{}, held{};  // until now, or its start; of that, for jobs that it depends on
  bool lacked_room = false;      // its turn came, and there was no memory
};

// For people, in one sentence or two.
std::string TextOf(const WhyReport& report);

// Thread-safe.
class Whys {
 public:
  struct Parts {
    const Jobs& jobs;
    const Scheduler& scheduler;
    const RunTimes& times;
    const StartBias& bias;
    const Admission& admission;
    const Clock& clock;
  };
  explicit Whys(Parts parts) : parts_(parts) {}

  WhyReport Of(const Principal& who, const Job& job) const;
  // When a job that has just been queued will probably start, not corrected by the bias; nothing where it begins at
  // once, or nothing tells.
  std::optional<nanoseconds> StartOf(const Job& job) const;

 private:
  void OfWaiting(const Principal& who, const Job& job, WhyReport& report) const;
  void OfHeld(const Principal& who, WhyReport& report) const;
  void OfQueued(const Standing& standing, WhyReport& report) const;
  // When a job that goes on will probably end. Looks at so many jobs at most.
  std::optional<nanoseconds> EndOf(const Principal& who, const JobId& id, int& looks) const;
  Standing Look(const Job& job, std::size_t limit, const DescribeEntry& describe) const;

  const Parts parts_;
};

}  // namespace hotplate::core
