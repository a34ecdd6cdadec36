// Where the events of all jobs are written down, in the order in which they happen and before anybody is told of them.
// Without one, jobs are in memory alone; a journal that survives the daemon is one.
//
// A durable job outlives the daemon. Its request is written down before it is acknowledged (Engine::Accept), by whoever
// submits it; its end, with the outputs, before anybody hears of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "server/core/jobs/job_event.h"

namespace hotplate::core {

// A task of a sweep that will not run again.
struct TaskRow {
  std::uint64_t row = 0, task = 0;
  JobState state = JobState::kCompleted;
  absl::Status error;                           // unless kCompleted
  std::shared_ptr<OutsideWork> work = nullptr;  // of the task; null: a kernel's
};
struct TaskRows {
  std::vector<TaskRow> rows;
  // Each output of all rows. Those of completed tasks change no more.
  struct Output {
    std::shared_ptr<const HostBuffer> buffer;
    std::uint64_t row_bytes = 0;
  };
  std::vector<Output> outputs;
};

class JobLog {
 public:
  virtual ~JobLog() = default;
  // The event has been applied to the job. Called under the jobs' lock, so that events come in one order: it must not
  // wait, or call anything that asks for a job.
  virtual void Append(const Job& job, const JobEvent& event) = 0;
  // A durable job with `waits_for_start` is about to run. Returns when that is written down, or cannot be.
  virtual void WriteStart(const Job& job, const JobEvent& start, std::uint64_t sequence) = 0;
  // The run of a durable job is over. Calls `told` once, on any thread and with no lock held, when the end is written
  // down, or cannot be. Does not call it for a job that was interrupted after Suspend and is to run again. `sequence`:
  // the end's, among the job's changes.
  virtual void WriteEnd(std::shared_ptr<const Job> job, const JobEvent& end, std::uint64_t sequence,
                        std::function<void()> told) = 0;
  // A durable job that waited for others, or that a daemon before this one accepted, is bound: its outputs are known.
  // RESOURCE_EXHAUSTED: there is no room to keep what it makes. Does not wait.
  virtual absl::Status Reserve(const Job& /*job*/) { return absl::OkStatus(); }
  // These tasks of a durable sweep are not to run again under the next daemon. Calls for one job come in any order, and
  // none after WriteEnd. Does not wait.
  virtual void WriteTasks(const Job& job, TaskRows rows) = 0;
  // From now on durable jobs that do not complete are left to the next daemon.
  virtual void Suspend() = 0;
  // Waits for what is being written; `told` is not called afterwards.
  virtual void Stop() = 0;
};

}  // namespace hotplate::core
