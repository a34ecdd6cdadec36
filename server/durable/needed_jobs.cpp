#include "server/durable/needed_jobs.h"

#include "server/core/jobs/job_refs.h"
#include "server/core/jobs/job_table.h"

namespace hotplate::server {

std::set<std::uint64_t> NeedsOf(const core::JobRequest& request) {
  std::set<std::uint64_t> needs;
  for (const core::NamedRef& ref : core::RefsOf(request)) {
    if (!ref.output.empty()) needs.insert(core::JobTable::NumberOf(ref.job->id.value()));
  }
  return needs;
}

void NeededJobs::Add(std::uint64_t job, const std::set<std::uint64_t>& needs) {
  if (needs.empty()) return;
  MutexLock lock(mutex_);
  needs_[job].insert(needs.begin(), needs.end());
  for (const std::uint64_t one : needs) {
    needed_by_[one].insert(job);
    was_needed_.erase(one);
  }
}

bool NeededJobs::MayGo(std::uint64_t job) {
  MutexLock lock(mutex_);
  if (!needed_by_.contains(job)) return true;
  fetched_.insert(job);
  return false;
}

bool NeededJobs::MayGoForJobs(std::uint64_t job) {
  MutexLock lock(mutex_);
  if (was_needed_.erase(job) > 0) return true;
  fetched_.insert(job);
  return false;
}

bool NeededJobs::IsNeeded(std::uint64_t job) const {
  MutexLock lock(mutex_);
  return needed_by_.contains(job);
}

std::vector<std::uint64_t> NeededJobs::Ended(std::uint64_t job) {
  std::vector<std::uint64_t> may_go;
  MutexLock lock(mutex_);
  const auto needs = needs_.extract(job);
  if (needs.empty()) return may_go;
  for (const std::uint64_t one : needs.mapped()) {
    const auto at = needed_by_.find(one);
    at->second.erase(job);
    if (!at->second.empty()) continue;
    needed_by_.erase(at);
    if (fetched_.erase(one) > 0) {
      may_go.push_back(one);
    } else {
      was_needed_.insert(one);
    }
  }
  return may_go;
}

}  // namespace hotplate::server
