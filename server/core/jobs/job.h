// A job as the daemon keeps it, from its submission until it leaves the table: what was asked for, which does not
// change, and the record of what became of it, which only Apply (job_event.h) changes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/core/jobs/binding.h"
#include "server/core/schedule/queue.h"
#include "server/core/types.h"

namespace hotplate::core {

struct JobEvent;
struct Session;
struct Subscription;

// The state of a job after its events.
struct JobRecord {
  // PENDING, RUNNING, the end: no job has more.
  static constexpr unsigned kMaxChanges = 3;

  JobState state = JobState::kPending;
  // Entries below change_count never change again, so a copy of the count is enough to read them without the lock.
  std::array<StateChange, kMaxChanges> changes;
  unsigned change_count = 0;
  SteadyTime start_time, end_time;
  std::shared_ptr<const JobEnd> end;  // null while it goes on
  std::vector<ArrayId> owned_arrays;  // outputs that go with the job
  bool attached = false;              // belongs to its client's stream or call
  bool fetched = false;               // somebody has got its result
  bool time_limit_reached = false;
  bool cancel_requested = false;
  std::string cancel_reason;
  std::optional<SteadyTime> grace_end;  // until then the client of an attached job may come back
};

// Where an ended job is kept: JobTable.
enum class JobShelf : std::uint8_t { kNone, kPromised, kDelivered, kTiny };

class Job : public QueueEntry, public std::enable_shared_from_this<Job> {
 public:
  // Set before the job is submitted; whoever runs it reads them without a lock.
  JobId id;  // the sequence in decimal
  Principal owner;
  std::shared_ptr<Session> session;
  std::shared_ptr<OutsideWork> work;  // null: a kernel's job
  std::shared_ptr<SweepRun> sweep;    // of one with many tasks, which run in its place
  std::shared_ptr<SweepRun> task_of;  // of a task of a sweep, which is in no table
  std::uint64_t row = 0;              // of a task: its place in the results
  BoundJob bound;                     // when the job has ended, all but its parameters is gone
  std::string request_key;            // JobTable::RequestKey of its request id; empty without one
  std::uint64_t payload_hash = 0;
  std::string label, graph, node;
  std::vector<JobId> depends_on;  // jobs whose outputs it takes, or that it comes after
  std::optional<nanoseconds> time_limit;
  DisconnectPolicy on_disconnect = DisconnectPolicy::kDefault;
  bool submitted_attached = false;
  bool durable = false;              // written down before it is acknowledged (jobs/job_log.h)
  bool may_rerun = true;             // by the next daemon, where this one dies while it runs
  bool waits_for_start = false;      // that it runs is written down before it does
  std::vector<StateChange> earlier;  // its changes under daemons before this one
  bool tiny = false;                 // IsTiny (run/tiny.h)
  // Somebody may come back for it, so there has to be room to keep it, and its inline results of at most so many bytes.
  bool promised = false;
  std::uint64_t promised_bytes = 0;
  bool keeps_request = false;  // its request id is to be known for the whole retention time
  SteadyTime submit_time;

  const KernelSpec& spec() const { return *kernel; }
  // Guarded by the lock of Jobs, as is what follows.
  const JobRecord& record() const { return record_; }
  // All of its changes, `earlier` ones first. What is below the count never changes again, as in the record.
  unsigned change_count() const { return static_cast<unsigned>(earlier.size()) + record_.change_count; }
  const StateChange& change(unsigned i) const {
    return i < earlier.size() ? earlier[i] : record_.changes[i - earlier.size()];
  }

  // It is being written down: nobody sees it until it is acknowledged.
  bool hidden = false;
  std::string late_cancel;  // why it is cancelled as soon as it is acknowledged; or empty

  // The dependencies' own: how many jobs have yet to take an output that is for jobs alone, by its name; and which job
  // was the first to fail of those that this one depends on, as a sentence.
  std::map<std::string, std::uint32_t> takers;
  std::set<std::string> left_by;  // request ids of jobs that will not come for outputs after all; as `takers`
  std::string cause;

  // The table's own.
  std::uint64_t retained_bytes = 0;  // of inline results
  JobShelf shelf = JobShelf::kNone;
  std::uint64_t end_order = 0;  // of all jobs that ended

  // The observers' own.
  std::vector<std::shared_ptr<Subscription>> subscriptions;
  bool untold = false;  // is in the list of jobs whose observers may not know the latest
  double told_progress = 0;
  SteadyTime told_progress_time;

  // For the whys (why.h): its wait as it was foretold when it was queued, and the same before it was corrected
  // (schedule/start_bias.h), both below 0 for none; and how long it waited for other jobs before that.
  std::atomic<nanoseconds::rep> start_forecast{-1}, plain_forecast{-1}, held_for{0};

  mutable TaskControl control;  // thread-safe
  // A durable one that is left to the next daemon: it neither waits nor runs.
  mutable std::atomic<bool> suspended{false};
  // Its run is over, and its end is being written down.
  mutable std::atomic<bool> ending{false};

 private:
  friend absl::Status Apply(Job& job, const JobEvent& event);
  JobRecord record_;
};

}  // namespace hotplate::core
