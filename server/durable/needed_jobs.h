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
  // Returns the jobs that may go now.
  std::vector<std::uint64_t> Ended(std::uint64_t job);

 private:
  Mutex mutex_;
  std::map<std::uint64_t, std::set<std::uint64_t>> needs_ ABSL_GUARDED_BY(mutex_);      // by the job that needs
  std::map<std::uint64_t, std::set<std::uint64_t>> needed_by_ ABSL_GUARDED_BY(mutex_);  // by the job that is needed
  std::set<std::uint64_t> fetched_ ABSL_GUARDED_BY(mutex_);                             // of those that are needed
};

}  // namespace hotplate::server
