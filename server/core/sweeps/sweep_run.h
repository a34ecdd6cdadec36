// One sweep that goes on. It is one job, which has no lane: its tasks are jobs that are in no table and in no journal,
// known by its id and their number ("31.7"). It makes them as lanes take them, so that only some exist at a time, and
// collects what they leave: row after row of outputs that were there from the beginning, and a state of one byte.
//   1. Prepare checks every task, and takes the memory of the whole result: what does not fit is refused. RunFor makes
//      it a job's.
//   2. Begin queues the first tasks. As each ends (Ended), the next is queued; a failed one again, where the plan says
//      so.
//   3. Rows that are complete go to the log every kFlushInterval (JobLog::WriteTasks); the next daemon gives them back
//      (Restore).
//   4. The last task's end is the job's: COMPLETED, although some may have failed; FAILED if all of them have, or more
//      than the plan allows.
// Thread-safe. Calls nothing under its lock; the log under one of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/core/jobs/binding.h"
#include "server/core/jobs/job.h"
#include "server/core/jobs/job_log.h"
#include "server/core/jobs/jobs.h"
#include "server/core/schedule/scheduler.h"
#include "server/core/schedule/sessions.h"
#include "server/core/sweeps/sweep_outcome.h"

namespace hotplate::core {

class RunHistory;

class SweepRun : public std::enable_shared_from_this<SweepRun> {
 public:
  static constexpr nanoseconds kFlushInterval = std::chrono::milliseconds(100);

  // They outlive it.
  struct Parts {
    Jobs& jobs;
    Scheduler& scheduler;
    const Binder& binder;
    ArrayStore& arrays;
    const Sessions& sessions;
    const Clock& clock;
    RunHistory& history;
    JobLog* log;  // null: none
    std::uint64_t inline_bytes;
    std::size_t lanes;  // of all devices
  };

  enum class Memory { kTake, kLeave };  // the latter for Check
  // `first` is the first task, bound; its outputs become those of the whole. INVALID_ARGUMENT and the like name the
  // task. `request` is the sweep's, after it was bound.
  static absl::StatusOr<std::shared_ptr<SweepRun>> Prepare(const Parts& parts, const Principal& who,
                                                           const JobRequest& request, BoundJob& first, Memory memory);

  // Before Begin: a daemon before this one has run this task. `bytes`: its outputs, one after the other, where
  // it completed. False: they are not those of such a task.
  bool Restore(const TaskRow& done, std::span<const std::byte> bytes);
  // Once, before the job is in the table: it runs in the job's place.
  void RunFor(Job& job);
  // Once. The job is in the table, and admitted (Scheduler::Admit).
  void Begin();
  // Ends the job CANCELLED, at once or when its tasks have ended.
  void Cancel(Job& job, const std::string& reason);
  // The daemon ends: the job is left to the next one when its tasks have ended.
  void Suspend();
  // Sends what is due to the log.
  void Look();

  // A task of it is on this device from now on. Returns when the start of the first one has been told of.
  void Started(const std::string& device, SteadyTime at);
  void Ended(Job& task, JobEnd end);
  // The task left the queue, since the devices that could have run it are lost. It waits until one is back.
  void Stranded(const Job& task);
  // Now and then: tasks that wait for a lost device are tried again.
  void Retry();

  TaskCounts counts() const;
  SweepOutcome Outcome() const;
  SweepOutcome Glance() const;  // without what may be large: the incomplete tasks and the spec
  bool is_over() const;
  std::shared_ptr<Job> job() const { return job_.lock(); }

 private:
  enum class State : std::uint8_t { kToRun, kRunning, kCompleted, kFailed };
  enum class Start : std::uint8_t { kNo, kUnderWay, kDone };
  enum class Stop : std::uint8_t { kNo, kTooManyFailed, kCancelled, kSuspended };
  struct Output {
    std::string name;
    Signature signature;  // of all rows
    std::uint64_t row_bytes = 0;
    std::shared_ptr<HostBuffer> buffer;
  };

  SweepRun(const Parts& parts, Principal who, JobRequest base, std::shared_ptr<const SweepPlan> plan);

  JobRequest RequestOf(std::uint64_t row) const;
  absl::Status CheckTasks(Memory memory) const;  // after TakeOutputs
  absl::Status TakeOutputs(BoundJob& first, Memory memory);
  // Queues tasks while there are any, and fewer than the window under way.
  void Feed();
  absl::StatusOr<std::shared_ptr<Job>> MakeTask(const std::shared_ptr<Job>& job, std::uint64_t row,
                                                const std::vector<std::string>& lost);
  // No device can have the task now.
  void PutBack(std::uint64_t row);
  std::optional<std::uint64_t> NextRow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TooManyFailed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return plan_->parts().most_failed && failed_ > *plan_->parts().most_failed;
  }
  // A task is not under way any more.
  void Settle(std::uint64_t row, const JobEnd& end, std::shared_ptr<OutsideWork> work = nullptr);
  void Fail(std::uint64_t row, JobState state, const absl::Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // No task is queued from now on; those that are leave the queue, those that run are told.
  void StopTasks(Stop why, const std::string& reason);
  void StopTask(Job& task, const std::string& reason);
  void EndIfOver();
  JobEnd MakeEnd(Job& job, std::vector<ArrayId>& owned);
  // Drops all that only tasks need: the job stays in the table as long as its result may be asked for.
  void Release(std::shared_ptr<const SweepOutcome> outcome);
  void FillIncomplete();
  void AddTo(JobReceipt& sum, const JobReceipt& one) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  TaskCounts CountsLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SweepOutcome GlanceLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SweepOutcome OutcomeLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Parts parts_;
  const Principal who_;
  JobRequest base_;  // of each task, without the sweep's values; until the sweep is over
  const std::shared_ptr<const SweepPlan> plan_;
  // Each row is written once, by the thread that ended its task. The buffers go to the job's end under the lock.
  std::vector<Output> outputs_;
  std::weak_ptr<Job> job_;    // since RunFor
  const std::size_t window_;  // of tasks under way

  Mutex writing_;                                       // held while rows go to the log; mutex_ may be taken under it
  bool all_written_ ABSL_GUARDED_BY(writing_) = false;  // the end is next
  mutable Mutex mutex_;
  std::vector<State> states_ ABSL_GUARDED_BY(mutex_);  // by row
  std::uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;     // rows from here on have not begun
  std::deque<std::uint64_t> again_ ABSL_GUARDED_BY(mutex_);
  bool no_device_ ABSL_GUARDED_BY(mutex_) = false;  // nothing is queued until Retry
  std::unordered_map<std::uint64_t, std::uint32_t> failed_before_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, std::shared_ptr<Job>> under_way_ ABSL_GUARDED_BY(mutex_);
  std::size_t places_taken_ ABSL_GUARDED_BY(mutex_) = 0;  // of the window
  std::uint64_t completed_ ABSL_GUARDED_BY(mutex_) = 0, failed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<TaskFailure> failures_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const SweepOutcome> outcome_ ABSL_GUARDED_BY(mutex_);  // since Release
  Stop stop_ ABSL_GUARDED_BY(mutex_) = Stop::kNo;
  std::string stop_reason_ ABSL_GUARDED_BY(mutex_);
  Start start_ ABSL_GUARDED_BY(mutex_) = Start::kNo;  // of the job
  CondVar start_done_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  SteadyTime start_time_ ABSL_GUARDED_BY(mutex_);
  JobReceipt receipt_ ABSL_GUARDED_BY(mutex_);  // sums over the tasks
  std::vector<TaskRow> unflushed_ ABSL_GUARDED_BY(mutex_);
  SteadyTime flushed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::core
