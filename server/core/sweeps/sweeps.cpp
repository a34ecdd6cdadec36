#include "server/core/sweeps/sweeps.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"
#include "server/core/jobs/job_refs.h"

namespace hotplate::core {

absl::StatusOr<std::shared_ptr<SweepRun>> Sweeps::Prepare(const Principal& who, const JobRequest& request,
                                                          BoundJob& first, SweepRun::Memory memory) const {
  for (const JobOutput& output : request.outputs) {
    if (output.for_jobs == 0) continue;
    return InvalidField("outputs." + output.name,
                        absl::StrCat(output.name, ": a sweep's outputs are not for other jobs alone (for_jobs is ",
                                     output.for_jobs, ")"));
  }
  return SweepRun::Prepare(parts_, who, request, first, memory);
}

void Sweeps::Begin(Job& job) {
  {
    MutexLock lock(mutex_);
    runs_.push_back(job.sweep);
  }
  job.sweep->Begin();
}

void Sweeps::Look() {
  std::vector<std::shared_ptr<SweepRun>> runs;
  {
    MutexLock lock(mutex_);
    std::erase_if(runs_, [&](const std::weak_ptr<SweepRun>& one) {
      std::shared_ptr<SweepRun> run = one.lock();
      if (run == nullptr || run->is_over()) return true;
      runs.push_back(std::move(run));
      return false;
    });
  }
  for (const std::shared_ptr<SweepRun>& run : runs) {
    run->Retry();
    run->Look();
    if (const std::shared_ptr<Job> job = run->job()) parts_.jobs.Look(*job);
  }
}

}  // namespace hotplate::core
