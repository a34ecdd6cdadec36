// What tokens may have, by their names. A token without an entry, the owner's, has no bounds but the daemon's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/mutex.h"

namespace hotplate::core {

// 0 and empty: no bound of its own.
struct Allowance {
  std::uint32_t jobs = 0;                 // that have not ended, at a time
  std::uint64_t array_bytes = 0;          // of its arrays, with outputs that are kept
  std::vector<std::string> devices = {};  // ids that its jobs may run on
  // A canonical folder: below it its jobs may read files by path; empty: nowhere. They write none.
  std::string path_root = {};
  std::optional<std::chrono::system_clock::time_point> expires = {};
  bool revoked = false;

  // Calls that are under way make no more jobs or arrays.
  bool is_over() const { return revoked || (expires && *expires <= std::chrono::system_clock::now()); }
};

// PERMISSION_DENIED: Allowance::is_over.
inline absl::Status EndedToken(const std::string& token) {
  return absl::PermissionDeniedError(
      absl::StrCat("token \"", token, "\" was revoked or has expired; ask the daemon's owner for a new one"));
}

// Thread-safe. Takes no other lock under its own.
class Allowances {
 public:
  // Null: it has no bounds.
  std::shared_ptr<const Allowance> Of(const std::string& token) const {
    MutexLock lock(mutex_);
    const auto at = by_token_.find(token);
    return at == by_token_.end() ? nullptr : at->second;
  }
  void Set(const std::string& token, Allowance allowance) {
    MutexLock lock(mutex_);
    by_token_[token] = std::make_shared<const Allowance>(std::move(allowance));
  }

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Allowance>> by_token_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::core
