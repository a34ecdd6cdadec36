// Which durable jobs are needed by others that have not ended: until then their results must not go, whoever has
// fetched them, since a job that its daemon's death cuts off takes them once more.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "kernels/base/mutex.h"
#include "server/core/types.h"

namespace hotplate::server {

// The jobs whose outputs it takes, by their numbers.
std::set<std::uint64_t> NeedsOf(const core::JobRequest& request);

// By their numbers. Thread-safe.
class NeededJobs {
 public:
  // `job` needs these until it has ended.
  void Add(std::uint64_t job, const std::set<std::uint64_t>& needs);
  // Somebody has fetched its result, or nobody can. False while it is needed: Ended tells when that is over.
  bool MayGo(std::uint64_t job);
  // The same for one whose outputs are for other jobs alone; false as well while none of these has come yet.
  bool MayGoForJobs(std::uint64_t job);
  bool IsNeeded(std::uint64_t job) const;
  // Returns the jobs that may go now.
  std::vector<std::uint64_t> Ended(std::uint64_t job);

 private:
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::set<std::uint64_t>> needs_ ABSL_GUARDED_BY(mutex_);      // by the job that needs
  std::map<std::uint64_t, std::set<std::uint64_t>> needed_by_ ABSL_GUARDED_BY(mutex_);  // by the job that is needed
  std::set<std::uint64_t> fetched_ ABSL_GUARDED_BY(mutex_);                             // of those that are needed
  std::set<std::uint64_t> was_needed_ ABSL_GUARDED_BY(mutex_);  // by jobs that have all ended, and has not ended itself
};

}  // namespace hotplate::server
