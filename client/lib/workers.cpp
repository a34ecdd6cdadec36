#include "client/lib/workers.h"

#include "client/lib/library_thread.h"
#include "client/lib/wait.h"

namespace hotplate::client {

void Workers::Close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Workers::Add(std::function<void()> work) {
  {
    std::unique_lock lock(mutex_);
    if (closing_) {
      lock.unlock();
      return work();
    }
    queue_.push_back(std::move(work));
    if (idle_ < queue_.size() && threads_.size() < kMaxThreads) threads_.emplace_back([this] { Work(); });
  }
  wake_.notify_one();
}

void Workers::Work() {
  const LibraryThread here;
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    Wait(wake_, lock, [this] { return closing_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // its destructor may wait for others
    lock.lock();
  }
}

}  // namespace hotplate::client
