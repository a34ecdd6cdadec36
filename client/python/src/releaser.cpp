#include "client/python/src/releaser.h"

#include <signal.h>

namespace hotplate::python {

Releaser::~Releaser() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  to_free_.insert(to_free_.end(), owned_.begin(), owned_.end());
  owned_.clear();
  wake_.notify_one();
  lock.unlock();
  if (thread_.joinable()) thread_.join();
  Work();
}

void Releaser::Own(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  owned_.insert(id);
}

void Releaser::Disown(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  owned_.erase(id);
}

void Releaser::Release(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  if (closing_ || owned_.erase(id) == 0) return;
  to_free_.push_back(id);
  if (!thread_.joinable()) {
    thread_ = std::thread([this] {
      // Signals are for the threads that Python knows.
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, nullptr);
      Work();
    });
  }
  wake_.notify_one();
}

void Releaser::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return closing_ || !to_free_.empty(); });
    if (to_free_.empty()) return;
    const std::string id = std::move(to_free_.front());
    to_free_.pop_front();
    lock.unlock();
    const absl::Status status = client_.Free(id);
    lock.lock();
    // With the daemon gone each would take its time; while it is there, an array that is not is as good as freed.
    if (closing_ && !status.ok() && !absl::IsNotFound(status)) to_free_.clear();
  }
}

}  // namespace hotplate::python
