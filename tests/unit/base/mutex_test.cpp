#include "kernels/base/mutex.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

namespace hotplate {
namespace {

using std::chrono::system_clock;

// Whether another thread gets the mutex at once.
template <typename AMutex>
bool IsFree(AMutex& mutex) {
  return std::async(std::launch::async,
                    [&mutex]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
                      const bool free = mutex.TryLock();
                      if (free) mutex.Unlock();
                      return free;
                    })
      .get();
}

TEST(MutexTest, ABoundedTryEnds) {
  Mutex mutex;
  const auto try_until = [&mutex](system_clock::time_point time) {
    return std::async(std::launch::async,
                      [&mutex, time] {
                        if (!mutex.TryLockUntil(time)) return false;
                        const MutexLock lock(mutex, std::adopt_lock);
                        return true;
                      })
        .get();
  };
  EXPECT_TRUE(try_until(system_clock::now()));
  EXPECT_TRUE(IsFree(mutex)) << "the adopted lock was not released";
  MutexLock lock(mutex);
  EXPECT_FALSE(try_until(system_clock::now()));
  EXPECT_FALSE(try_until(system_clock::now() + std::chrono::milliseconds(10)));
}

TEST(MutexTest, ABoundedTryWaitsForTheMutex) {
  Mutex mutex;
  MutexLock lock(mutex);
  std::promise<void> about_to_try;
  std::future<bool> got = std::async(std::launch::async, [&] {
    about_to_try.set_value();
    if (!mutex.TryLockUntil(system_clock::now() + std::chrono::minutes(5))) return false;
    const MutexLock mine(mutex, std::adopt_lock);
    return true;
  });
  about_to_try.get_future().wait();
  lock.Unlock();
  EXPECT_TRUE(got.get());
}

TEST(MutexGapTest, TheMutexIsFreeInTheGapAlone) {
  Mutex mutex;
  MutexLock lock(mutex);
  {
    const MutexGap gap(mutex);
    EXPECT_TRUE(IsFree(mutex));
  }
  EXPECT_FALSE(IsFree(mutex));
  try {
    const MutexGap gap(mutex);
    throw std::runtime_error("from a callback");
  } catch (const std::runtime_error&) {
  }
  EXPECT_FALSE(IsFree(mutex)) << "the caller would unlock it a second time";
}

TEST(CondVarTest, AWaitEndsWithTheNewsOrTheTime) {
  Mutex mutex;
  CondVar changed;
  bool news = false;
  std::thread teller([&] {
    const MutexLock lock(mutex);
    news = true;
    changed.NotifyAll();
  });
  {
    const MutexLock lock(mutex);
    while (!news) changed.Wait(mutex);
    EXPECT_FALSE(changed.WaitUntil(mutex, std::chrono::steady_clock::now()));
    EXPECT_FALSE(IsFree(mutex));
  }
  teller.join();
}

TEST(SharedMutexTest, ManyShareItOrOneHasItAlone) {
  SharedMutex mutex;
  {
    const SharedLock one(mutex);
    std::async(std::launch::async, [&mutex] { const SharedLock another(mutex); }).get();
    EXPECT_FALSE(IsFree(mutex));
  }
  EXPECT_TRUE(IsFree(mutex));
  {
    const AloneLock alone(mutex);
    EXPECT_FALSE(IsFree(mutex));
  }
  ASSERT_TRUE(mutex.TryLock());
  { const AloneLock adopted(mutex, std::adopt_lock); }
  EXPECT_TRUE(IsFree(mutex));
}

}  // namespace
}  // namespace hotplate
