#include "client/python/src/releaser.h"

#include <chrono>
#include <system_error>

#include "client/python/src/interrupt.h"

namespace hotplate::python {

Releaser::~Releaser() {
  constexpr std::chrono::seconds kPatience(2);  // with a daemon that hangs
  MutexLock lock(mutex_);
  closing_ = true;
  to_free_.insert(to_free_.end(), owned_.begin(), owned_.end());
  owned_.clear();
  try {
    if (!to_free_.empty()) Begin();
  } catch (const std::system_error&) {  // no thread: all of it goes with the session
  }
  if (!thread_.joinable()) return;
  wake_.NotifyAll();
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!over_ && wake_.WaitUntil(mutex_, until)) {
  }
  if (!over_) stop_.Cancel();
  lock.Unlock();
  thread_.join();
}

void Releaser::Own(const std::string& id) {
  const MutexLock lock(mutex_);
  owned_.insert(id);
}

void Releaser::Disown(const std::string& id) {
  const MutexLock lock(mutex_);
  owned_.erase(id);
}

void Releaser::Release(const std::string& id) {
  const MutexLock lock(mutex_);
  if (closing_ || owned_.erase(id) == 0) return;
  to_free_.push_back(id);
  Begin();
  wake_.NotifyOne();
}

void Releaser::Begin() {
  if (thread_.joinable()) return;
  thread_ = std::thread([this] {
    LeaveSignalsToPython();
    Work();
  });
}

void Releaser::Work() {
  MutexLock lock(mutex_);
  while (true) {
    while (!closing_ && to_free_.empty()) wake_.Wait(mutex_);
    if (to_free_.empty()) break;
    const std::string id = std::move(to_free_.front());
    to_free_.pop_front();
    lock.Unlock();
    const absl::Status status = client_.Free(id, &stop_);
    lock.Lock();
    // With the daemon gone each would take its time; while it is there, an array that is not is as good as freed.
    if (closing_ && !status.ok() && !absl::IsNotFound(status)) to_free_.clear();
  }
  over_ = true;
  wake_.NotifyAll();
}

}  // namespace hotplate::python
