// Jobs that are not queued yet, since they wait for other jobs: from the check of their requests to the queue. What
// they wait for, and what they have taken of it, is known to jobs/dependencies.h.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/jobs/binding.h"
#include "server/core/jobs/dependencies.h"
#include "server/core/jobs/jobs.h"
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
  };
  explicit HeldJobs(const Parts& parts) : parts_(parts), dependencies_(parts.jobs, parts.arrays) {}

  // A request that was checked. One that has to wait for other jobs comes with what it waits for, and is bound already,
  // if the shapes of its inputs are known.
  struct Prepared {
    BoundJob bound;
    std::vector<JobId> depends_on = {};
    std::optional<Dependencies::Held> held = std::nullopt;
    Dependencies::Lookup lookup = {};
  };
  absl::StatusOr<Prepared> Prepare(const Principal& who, JobRequest& request);
  // For a look at the job: notes what is known of inputs that others have yet to make. FAILED_PRECONDITION if that is
  // too little.
  absl::Status FillIn(const Principal& who, JobRequest& request);

  // The job is there, and has its place in the queue. True if it waits from now on for what it depends on: then whoever
  // ends last queues it, which may be now. One that is not acknowledged yet waits for that too.
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

  const Parts parts_;
  Dependencies dependencies_;
};

}  // namespace hotplate::core
