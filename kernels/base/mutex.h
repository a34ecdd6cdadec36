// A mutex that Clang's thread-safety analysis knows (tests/layers/thread_safety_test.py), with its lock and its
// condition variable. It is std::mutex beneath: ThreadSanitizer sees it, which it does not with the locks of an
// uninstrumented library. Waits are loops around CondVar::Wait, since the analysis does not look into a predicate.
// Every layer may include this file, but for what nvcc compiles: nothing needs to be linked for it.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "absl/base/thread_annotations.h"

// absl's ABSL_UNLOCK_FUNCTION leaves open whether the lock is shared, and then Clang does not take it back in a
// destructor.
#ifdef __clang__
#define HOTPLATE_EXCLUSIVE_UNLOCK_FUNCTION(...) __attribute__((release_capability(__VA_ARGS__)))
#else
#define HOTPLATE_EXCLUSIVE_UNLOCK_FUNCTION(...)
#endif

namespace hotplate {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mutex_.try_lock(); }
  // False if `time` has passed. By the wall clock: GCC 12's ThreadSanitizer does not see a mutex being taken by the
  // steady one.
  bool TryLockUntil(std::chrono::system_clock::time_point time) ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    const timespec until{seconds.time_since_epoch().count(), std::chrono::nanoseconds(time - seconds).count()};
    return pthread_mutex_timedlock(mutex_.native_handle(), &until) == 0;
  }
  // For the analysis alone, where it cannot see that the caller holds this mutex by another name.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {}

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex to the end of its scope. Unlock and Lock open a gap in it, as for a call that must not be made under
// the lock.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.Lock(); }
  // After a TryLock.
  MutexLock(Mutex& mutex, std::adopt_lock_t) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) : mutex_(mutex) {}
  ~MutexLock() ABSL_UNLOCK_FUNCTION() {
    if (held_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() ABSL_UNLOCK_FUNCTION() {
    held_ = false;
    mutex_.Unlock();
  }
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    mutex_.Lock();
    held_ = true;
  }
  bool held() const { return held_; }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// A gap, to the end of its scope, in a lock that the caller of a function holds.
class ABSL_SCOPED_LOCKABLE MutexGap {
 public:
  explicit MutexGap(Mutex& mutex) HOTPLATE_EXCLUSIVE_UNLOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.Unlock(); }
  ~MutexGap() HOTPLATE_EXCLUSIVE_UNLOCK_FUNCTION() { mutex_.Lock(); }
  MutexGap(const MutexGap&) = delete;
  MutexGap& operator=(const MutexGap&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  // std::condition_variable::wait asks for the libstdc++ of GCC 12 (GLIBCXX_3.4.30), wait_until does not: the Python
  // module is to load with that of GCC 11 too (RHEL 9).
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    WaitUntil(mutex, std::chrono::steady_clock::time_point::max());
  }
  // False if `time` has passed.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool in_time = changed_.wait_until(lock, time) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

// Many may hold it shared, or one alone.
class ABSL_LOCKABLE SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mutex_.try_lock(); }
  void LockShared() ABSL_SHARED_LOCK_FUNCTION() { mutex_.lock_shared(); }
  void UnlockShared() ABSL_UNLOCK_FUNCTION() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE AloneLock {
 public:
  explicit AloneLock(SharedMutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.Lock(); }
  // After a TryLock.
  AloneLock(SharedMutex& mutex, std::adopt_lock_t) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) : mutex_(mutex) {}
  ~AloneLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  AloneLock(const AloneLock&) = delete;
  AloneLock& operator=(const AloneLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class ABSL_SCOPED_LOCKABLE SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) ABSL_SHARED_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.LockShared(); }
  ~SharedLock() ABSL_UNLOCK_FUNCTION() { mutex_.UnlockShared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace hotplate
