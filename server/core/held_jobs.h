// Jobs that wait for other jobs before they are queued. jobs/dependencies.h keeps what each of them waits for, and what
// it has taken.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "server/core/jobs/binding.h"
#include "server/core/jobs/dependencies.h"
#include "server/core/jobs/job_log.h"
#include "server/core/jobs/jobs.h"
#include "server/core/run_history.h"
#include "server/core/schedule/scheduler.h"
#include "server/core/types.h"

namespace hotplate::core {

// Thread-safe.
class HeldJobs {
 public:
  // They outlive it.
  struct Parts {
    Jobs& jobs;
    Scheduler& scheduler;
    const Binder& binder;
    ArrayStore& arrays;
    RunHistory& history;
    const Clock& clock;
    JobLog* log;                      // null: none
    std::function<void(Job&)> queue;  // one that waits no more, and has its place
  };
  explicit HeldJobs(const Parts& parts) : parts_(parts), dependencies_(parts.jobs, parts.arrays) {}

  // A checked request. If it must wait, `held` says for what. It is bound already if the shapes of its inputs are
  // known.
  struct Prepared {
    BoundJob bound;
    Dependencies::Lookup lookup = {};  // `wanted` is moved to `held`
    std::optional<Dependencies::Held> held = std::nullopt;
  };
  // `restored`: an earlier daemon accepted it. CANCELLED if a job on which it depends was cancelled since.
  absl::StatusOr<Prepared> Prepare(const Principal& who, JobRequest& request, bool restored = false);
  // For Check: fills in what is known of inputs that other jobs have yet to make. FAILED_PRECONDITION if a shape is
  // unknown.
  absl::Status FillIn(const Principal& who, JobRequest& request);

  // Call when the job is in the table and admitted. True if it waits: it is then queued when the last of the others has
  // ended and it is acknowledged, perhaps within this call.
  bool Accept(const std::shared_ptr<Job>& job, Prepared& prepared, bool acknowledged);
  // False if it does not wait for other jobs.
  bool Acknowledge(const Job& job);
  // It was never acknowledged.
  void Withdraw(const Job& job) { dependencies_.Withdraw(job); }
  // Releases the jobs that waited for one that has ended.
  void Follow(Job& ended);

  std::size_t size() const { return dependencies_.waiting(); }

 private:
  // It waits no more: it is queued, or ends as those did that it depends on.
  void Release(Dependencies::Held held);
  // Gives it the inputs that it has taken.
  absl::Status Complete(Dependencies::Held& held);
  // Ends a job that neither waits nor runs.
  void End(Job& job, JobState state, absl::Status error);

  const Parts parts_;
  Dependencies dependencies_;
};

}  // namespace hotplate::core
