#include "server/service/failed_calls.h"

#include <algorithm>

namespace hotplate::server {

absl::Status FailedCalls::Check(const std::string& certificate) const {
  MutexLock lock(mutex_);
  const auto found = full_again_.find(certificate);
  if (found == full_again_.end() || found->second <= clock_.Now() + (kAtOnce - 1) * kOneMore) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "too many calls with a wrong or ended token: of this client one a second is looked at");
}

void FailedCalls::Note(const std::string& certificate) {
  const core::SteadyTime now = clock_.Now();
  MutexLock lock(mutex_);
  std::erase_if(full_again_, [now](const auto& one) { return one.second <= now; });
  core::SteadyTime& full = full_again_[certificate];
  full = std::max(full, now) + kOneMore;
  any_ = true;
}

}  // namespace hotplate::server
