// Whether a job will end before the allocation does, as far as history tells. One that will not is refused, or left for
// the daemon that follows: it is then PENDING, and neither waits in the queue nor runs, unless the end is put off.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/mutex.h"
#include "server/core/jobs/job.h"
#include "server/core/schedule/run_times.h"
#include "server/core/schedule/scheduler.h"
#include "server/core/types.h"

namespace hotplate::core {

// Thread-safe. Takes the scheduler's lock under none of its own.
class Admission {
 public:
  // Fewer runs prove nothing.
  static constexpr std::uint32_t kEnoughRuns = 3;

  struct Parts {
    const RunTimes& times;
    Scheduler& scheduler;
    const Clock& clock;
    std::function<std::optional<WallTime>()> allocation_end;  // may be empty, as the others
    nanoseconds end_margin{};
    std::function<bool()> has_successor;
  };
  explicit Admission(Parts parts) : parts_(std::move(parts)) {}

  struct Candidate {
    const KernelSpec& kernel;
    RunTimes::Kind kind;
    // A program or a function: runs of one name may differ, so that even the shortest has to be too long.
    bool is_outside;
    std::optional<nanoseconds> time_limit;
  };
  // FAILED_PRECONDITION, with both times, for a new job that will probably not end in time, unless it is `durable` and
  // a daemon follows. A time limit is the caller's own word for how long it may take.
  absl::Status Check(const Candidate& job, bool durable) const;
  // An accepted job that has a place in the queue and is not queued yet. True: it is left for the next daemon, or was
  // cancelled meanwhile.
  bool Leave(Job& job);
  // Jobs that need not be left any more. The caller queues them: each is returned once.
  std::vector<std::shared_ptr<Job>> TakeBack();
  // One of these that cannot be queued now, after all.
  void Keep(std::shared_ptr<Job> job);
  bool IsLeft(const Job& job) const;
  // How many there are that nobody has cancelled.
  std::size_t left() const;

  // For jobs, until the daemon's own end. None: it is not known.
  std::optional<nanoseconds> TimeLeft() const;

 private:
  static Candidate CandidateOf(const Job& job) { return {job.spec(), job.kind, job.work != nullptr, job.time_limit}; }
  // How long it takes, if that is known well enough, and too long.
  std::optional<RunTimes::Estimate> TooLong(const Candidate& job) const;
  bool HasSuccessor() const { return parts_.has_successor && parts_.has_successor(); }

  const Parts parts_;
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<Job>> left_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::core
