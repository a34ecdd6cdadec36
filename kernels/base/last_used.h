// Values by texts, of which those that were used last are kept, up to a bound. Thread-safe. Nothing needs to be linked.
#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kernels/base/mutex.h"

namespace hotplate {

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

  // Values that are dropped for it are destroyed without the lock.
  void Add(std::string key, Value value) {
    List dropped;
    const MutexLock lock(mutex_);
    if (by_key_.contains(key)) return;  // another call made it meanwhile
    key_bytes_ += key.size();
    kept_.emplace_front(std::move(key), std::move(value));
    by_key_.emplace(kept_.front().first, kept_.begin());
    while (kept_.size() > most_ || (key_bytes_ > kMostKeyBytes && kept_.size() > 1)) {
      key_bytes_ -= kept_.back().first.size();
      by_key_.erase(kept_.back().first);
      dropped.splice(dropped.begin(), kept_, std::prev(kept_.end()));
    }
  }

  void Clear() {
    List dropped;
    const MutexLock lock(mutex_);
    by_key_.clear();
    dropped.swap(kept_);
    key_bytes_ = 0;
  }

 private:
  using List = std::list<std::pair<std::string, Value>>;

  static constexpr std::size_t kMostKeyBytes = std::size_t{4} << 20;  // texts may be long

  const std::size_t most_;
  Mutex mutex_;
  List kept_ ABSL_GUARDED_BY(mutex_);  // the last used first
  std::unordered_map<std::string_view, typename List::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
  std::size_t key_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotplate
