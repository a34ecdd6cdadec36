// How many jobs a token has, and may have.
#include "absl/strings/str_cat.h"
#include "server/core/jobs/jobs.h"

namespace hotplate::core {

void Jobs::AddActive(Job& job) {
  active_.insert(&job);
  ++active_of_[job.owner.token];
}

void Jobs::RemoveActive(Job& job) {
  if (active_.erase(&job) == 0) return;
  const auto at = active_of_.find(job.owner.token);
  if (--at->second == 0) active_of_.erase(at);
}

std::uint32_t Jobs::ActiveOf(const std::string& token) const {
  MutexLock lock(mutex_);
  const auto at = active_of_.find(token);
  return at == active_of_.end() ? 0 : at->second;
}

absl::Status Jobs::CheckAllowance(const Principal& who) const {
  if (options_.allowances == nullptr) return absl::OkStatus();
  MutexLock lock(mutex_);
  return CheckAllowanceLocked(who);
}

absl::Status Jobs::CheckAllowanceLocked(const Principal& who) const {
  const std::string& token = who.token;
  const std::shared_ptr<const Allowance> allowance = AllowanceOf(who);
  if (allowance == nullptr) return absl::OkStatus();
  if (allowance->is_over(who.serial)) return EndedToken(token);
  const auto at = active_of_.find(token);
  const std::uint32_t jobs = at == active_of_.end() ? 0 : at->second;
  if (allowance->jobs == 0 || jobs < allowance->jobs) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("token \"", token, "\" has ", jobs, jobs == 1 ? " job" : " jobs", " that ",
                   jobs == 1 ? "has" : "have", " not ended, its limit max-jobs is ", allowance->jobs, "; wait for ",
                   jobs == 1 ? "it" : "one of them", ", or ask the daemon's owner for more"));
}

}  // namespace hotplate::core
