#include "kernels/devices/cpu/thread_pool.h"

#include <chrono>
#include <system_error>

#include "kernels/base/wait_awake.h"

namespace hotplate {
namespace {

// About what it takes to wake a thread that sleeps.
constexpr std::chrono::microseconds kAwake(50);

}  // namespace

ThreadPool::~ThreadPool() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    called_.store(true, std::memory_order_relaxed);
  }
  wake_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Run(int helpers, void (*work)(void*), void* argument) {
  Call call{.work = work, .argument = argument, .wanted = helpers};
  if (helpers <= 0) return work(argument);
  {
    const MutexLock lock(mutex_);
    call.next = calls_;
    calls_ = &call;
    called_.store(true, std::memory_order_relaxed);
    while (idle_ < helpers && static_cast<int>(threads_.size()) < limit_) {
      try {
        threads_.emplace_back([this] { Work(); });
      } catch (const std::system_error&) {
        break;  // a limit on threads: continue with fewer
      }
      ++idle_;
    }
  }
  for (int i = 0; i < helpers; ++i) wake_.NotifyOne();
  work(argument);

  MutexLock lock(mutex_);
  if (call.wanted > 0) Remove(call);
  if (call.active == 0) return;
  lock.Unlock();
  // From here on no thread joins: once none is active, that stays so.
  const auto over = [&] { return call.active == 0; };
  if (WaitAwake(kAwake, over)) return;
  lock.Lock();
  while (!over()) done_.Wait(mutex_);
}

void ThreadPool::Work() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && calls_ == nullptr) wake_.Wait(mutex_);
    if (stopping_) return;
    Call& call = *calls_;
    ++call.active;
    if (--call.wanted == 0) Remove(call);
    --idle_;
    lock.Unlock();
    call.work(call.argument);
    lock.Lock();
    ++idle_;
    // The call's owner may return, and the call be destroyed, as soon as no thread is active.
    if (--call.active == 0) done_.NotifyAll();
    lock.Unlock();
    WaitAwake(kAwake, [this] { return called_.load(std::memory_order_relaxed); });
    lock.Lock();
  }
}

void ThreadPool::Remove(Call& call) {
  for (Call** place = &calls_; *place != nullptr; place = &(*place)->next) {
    if (*place != &call) continue;
    *place = call.next;
    called_.store(calls_ != nullptr || stopping_, std::memory_order_relaxed);
    return;
  }
}

}  // namespace hotplate
