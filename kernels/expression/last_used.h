// What was made of texts, kept for the next call: the last used, up to a bound. Thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kernels/base/mutex.h"

namespace hotplate::expression {

// Value: a shared_ptr, or what is copied as cheaply.
template <typename Value>
class LastUsed {
 public:
  explicit LastUsed(std::size_t most) : most_(most) {}

  // A Value of nothing if it is not there.
  Value Find(std::string_view key) {
    const MutexLock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return Value();
    kept_.splice(kept_.begin(), kept_, found->second);
    return found->second->second;
  }

  void Add(std::string key, Value value) {
    const MutexLock lock(mutex_);
    if (by_key_.contains(key)) return;  // another call made it meanwhile
    key_bytes_ += key.size();
    kept_.emplace_front(std::move(key), std::move(value));
    by_key_.emplace(kept_.front().first, kept_.begin());
    while (kept_.size() > most_ || (key_bytes_ > kMostKeyBytes && kept_.size() > 1)) {
      key_bytes_ -= kept_.back().first.size();
      by_key_.erase(kept_.back().first);
      kept_.pop_back();
    }
  }

 private:
  static constexpr std::size_t kMostKeyBytes = std::size_t{4} << 20;  // texts may be long

  const std::size_t most_;
  Mutex mutex_;
  std::list<std::pair<std::string, Value>> kept_ ABSL_GUARDED_BY(mutex_);  // the last used first
  std::unordered_map<std::string_view, typename std::list<std::pair<std::string, Value>>::iterator> by_key_
      ABSL_GUARDED_BY(mutex_);
  std::size_t key_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotplate::expression
