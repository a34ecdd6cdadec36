// A limit on calls with a wrong token, by client certificate: TLS has already told whose it is. A guest whose token has
// ended keeps its certificate until the daemon ends, and must not keep the daemon busy. The owner's calls are not
// limited: whoever has the owner's certificate has the record, and so the token.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "kernels/base/mutex.h"
#include "server/core/types.h"

namespace hotplate::server {

// Thread-safe.
class FailedCalls {
 public:
  // So many at once; then one more with each second that passes.
  static constexpr int kAtOnce = 20;
  static constexpr std::chrono::seconds kOneMore{1};

  explicit FailedCalls(const core::Clock& clock) : clock_(clock) {}

  // Whether a certificate may have to wait. Costs nothing.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // RESOURCE_EXHAUSTED if a call by this certificate is not to be looked at now.
  absl::Status Check(const std::string& certificate);
  // One has failed.
  void Note(const std::string& certificate);

 private:
  // Forgets those that need not wait.
  void ForgetLocked(core::SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const core::Clock& clock_;
  std::atomic<bool> any_ = false;
  Mutex mutex_;
  // When a certificate, as its client sent it, has all its tries again.
  std::map<std::string, core::SteadyTime> full_again_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::server
