#include "kernels/cpu/thread_pool.h"

#include <algorithm>
#include <system_error>

namespace hotplate {

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Run(int helpers, void (*work)(void*), void* argument) {
  Call call{.work = work, .argument = argument, .wanted = helpers};
  if (helpers <= 0) return work(argument);
  {
    const std::lock_guard lock(mutex_);
    call.next = calls_;
    calls_ = &call;
    while (idle_ < helpers && static_cast<int>(threads_.size()) < limit_) {
      try {
        threads_.emplace_back([this] { Work(); });
      } catch (const std::system_error&) {
        break;  // a limit on threads: go on with those there are
      }
      ++idle_;
    }
  }
  for (int i = 0; i < helpers; ++i) wake_.notify_one();
  work(argument);

  std::unique_lock lock(mutex_);
  if (call.wanted > 0) Remove(call);
  done_.wait(lock, [&] { return call.active == 0; });
}

void ThreadPool::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || calls_ != nullptr; });
    if (stopping_) return;
    Call& call = *calls_;
    ++call.active;
    if (--call.wanted == 0) Remove(call);
    --idle_;
    lock.unlock();
    call.work(call.argument);
    lock.lock();
    ++idle_;
    // The call's owner may return as soon as the lock is free.
    if (--call.active == 0) done_.notify_all();
  }
}

void ThreadPool::Remove(Call& call) {
  for (Call** place = &calls_; *place != nullptr; place = &(*place)->next) {
    if (*place != &call) continue;
    *place = call.next;
    return;
  }
}

}  // namespace hotplate
