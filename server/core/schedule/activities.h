// Use that is no job: an upload, a download, inputs by path that wait to be opened. The daemon is not idle while one
// goes on, and a drain waits for it, unless it has stalled.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_set.h"
#include "kernels/base/mutex.h"
#include "server/core/types.h"

namespace hotplate::core {

// Thread-safe.
class Activities {
 public:
  static constexpr nanoseconds kStalled = std::chrono::minutes(1);  // it has not Moved for so long

  Activities(const Clock& clock, SteadyTime last_use) : clock_(clock), last_use_(last_use.time_since_epoch().count()) {}

  // Goes on while it lives. Must not outlive the Activities.
  class Activity {
   public:
    explicit Activity(Activities& all) : all_(all), moved_(std::make_unique<Moment>()) {
      Moved();
      MutexLock lock(all_.mutex_);
      all_.going_on_.insert(moved_.get());
    }
    Activity(Activity&& other) noexcept = default;
    Activity& operator=(Activity&&) = delete;
    ~Activity() {
      if (moved_ == nullptr) return;
      all_.NoteUse();
      MutexLock lock(all_.mutex_);
      all_.going_on_.erase(moved_.get());
    }
    void Moved() const {
      moved_->store(all_.Now(), std::memory_order_relaxed);
      all_.NoteUse();
    }

   private:
    Activities& all_;
    std::unique_ptr<std::atomic<std::int64_t>> moved_;  // when
  };

  // A moment of use, without a duration.
  void NoteUse() { last_use_.store(Now(), std::memory_order_relaxed); }
  SteadyTime last_use() const { return SteadyTime(nanoseconds(last_use_.load(std::memory_order_relaxed))); }
  // One goes on that has not stalled.
  bool GoOn() const {
    const SteadyTime now = clock_.Now();
    MutexLock lock(mutex_);
    return std::any_of(going_on_.begin(), going_on_.end(), [now](const Moment* moved) {
      return now - SteadyTime(nanoseconds(moved->load(std::memory_order_relaxed))) < kStalled;
    });
  }

 private:
  using Moment = std::atomic<std::int64_t>;
  std::int64_t Now() const { return clock_.Now().time_since_epoch().count(); }

  const Clock& clock_;
  Moment last_use_;  // when any activity last began, moved or ended
  mutable Mutex mutex_;
  absl::flat_hash_set<const Moment*> going_on_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::core
