#include "server/service/failed_calls.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hotplate::server {

absl::Status FailedCalls::Check(const std::string& certificate) {
  const core::SteadyTime now = clock_.Now();
  MutexLock lock(mutex_);
  ForgetLocked(now);
  const auto found = full_again_.find(certificate);
  if (found == full_again_.end() || found->second <= now + (kAtOnce - 1) * kOneMore) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("too many calls with a wrong or ended token: this client may make ",
                                                   kAtOnce, ", and then one a second"));
}

void FailedCalls::Note(const std::string& certificate) {
  const core::SteadyTime now = clock_.Now();
  MutexLock lock(mutex_);
  ForgetLocked(now);
  core::SteadyTime& full = full_again_[certificate];
  full = std::max(full, now) + kOneMore;
  any_ = true;
}

void FailedCalls::ForgetLocked(core::SteadyTime now) {
  std::erase_if(full_again_, [now](const auto& one) { return one.second <= now; });
  any_ = !full_again_.empty();
}

}  // namespace hotplate::server
