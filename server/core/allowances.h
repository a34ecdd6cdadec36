// Bounds of tokens, by their names. The owner's has none but the daemon's.
#pragma once

#include <algorithm>
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

// How much of a limit that all tokens share, such as the number of arrays, one that has an allowance may have: others
// must find room for theirs.
template <typename Number>
constexpr Number PartOf(Number limit) {
  return std::max<Number>(1, limit / 4);
}

// 0 and empty: no bound of its own.
struct Allowance {
  std::uint32_t jobs = 0;                 // that have not ended, at a time
  std::uint64_t array_bytes = 0;          // of its arrays, with outputs that are kept
  std::vector<std::string> devices = {};  // ids that its jobs may run on
  // A canonical folder: below it its jobs may read files by path; empty: nowhere. They write none.
  std::string path_root = {};
  std::optional<std::chrono::system_clock::time_point> expires = {};
  bool revoked = false;
  std::uint64_t serial = 0;  // of the token; another one of the same name has another

  // Calls that are under way make no more jobs or arrays. `of`: the serial of the token that the call had; 0: any.
  bool is_over(std::uint64_t of = 0) const {
    if (of != 0 && of != serial) return true;
    return revoked || (expires && *expires <= std::chrono::system_clock::now());
  }
};

// PERMISSION_DENIED: Allowance::is_over, or the caller's is another token of the same name.
inline absl::Status EndedToken(const std::string& token) {
  return absl::PermissionDeniedError(
      absl::StrCat("token \"", token, "\" was revoked or has expired; ask the daemon's owner for a new one"));
}

// Thread-safe. Takes no other lock under its own.
class Allowances {
 public:
  // All tokens but the owner's need an entry; empty: none does.
  explicit Allowances(std::string owner = "") : owner_(std::move(owner)) {}

  // Null: it has no bounds. One without an entry that needs one is over.
  std::shared_ptr<const Allowance> Of(const std::string& token) const {
    if (token == owner_) return nullptr;
    MutexLock lock(mutex_);
    const auto at = by_token_.find(token);
    if (at != by_token_.end()) return at->second;
    return owner_.empty() ? nullptr : std::make_shared<const Allowance>(Allowance{.revoked = true});
  }
  void Set(const std::string& token, Allowance allowance) {
    MutexLock lock(mutex_);
    by_token_[token] = std::make_shared<const Allowance>(std::move(allowance));
  }

 private:
  const std::string owner_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Allowance>> by_token_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::core
