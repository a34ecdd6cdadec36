#include "client/lib/workers.h"

#include "client/lib/library_thread.h"

namespace hotplate::client {

void Workers::Close() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    threads.swap(threads_);
  }
  wake_.NotifyAll();
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

void Workers::Add(std::function<void()> work) {
  {
    MutexLock lock(mutex_);
    if (closing_) {
      lock.Unlock();
      return work();
    }
    queue_.push_back(std::move(work));
    if (idle_ < queue_.size() && threads_.size() < kMaxThreads) threads_.emplace_back([this] { Work(); });
  }
  wake_.NotifyOne();
}

void Workers::Work() {
  const LibraryThread here;
  MutexLock lock(mutex_);
  while (true) {
    ++idle_;
    while (!closing_ && queue_.empty()) wake_.Wait(mutex_);
    --idle_;
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.Unlock();
    work();
    work = nullptr;  // its destructor may wait for others
    lock.Lock();
  }
}

}  // namespace hotplate::client
