#include "server/workers/worker_pool.h"

#include <iterator>
#include <utility>

namespace hotplate::server {

std::unique_ptr<CallWorker> WorkerPool::Take(const std::string& key) {
  std::list<Waiting> gone;  // ended without the lock
  MutexLock lock(mutex_);
  Drop(gone);
  std::unique_ptr<CallWorker> taken;
  for (auto one = waiting_.begin(); one != waiting_.end() && taken == nullptr;) {
    const auto next = std::next(one);
    if (one->key == key) {
      if (one->worker->Refresh()) {
        taken = std::move(one->worker);
        busy_.insert(taken.get());
        waiting_.erase(one);
      } else {
        gone.splice(gone.end(), waiting_, one);
      }
    }
    one = next;
  }
  lock.Unlock();
  return taken;
}

void WorkerPool::Add(const CallWorker& worker) {
  MutexLock lock(mutex_);
  busy_.insert(&worker);
}

void WorkerPool::Return(const std::string& key, std::unique_ptr<CallWorker> worker) {
  std::list<Waiting> gone;  // ended without the lock
  MutexLock lock(mutex_);
  const bool wanted = busy_.erase(worker.get()) > 0 && worker->usable();
  waiting_.push_front({key, std::move(worker), std::chrono::steady_clock::now()});
  if (!wanted) gone.splice(gone.end(), waiting_, waiting_.begin());
  Drop(gone);
  lock.Unlock();
}

void WorkerPool::Drop(std::list<Waiting>& gone) {
  const auto now = std::chrono::steady_clock::now();
  while (!waiting_.empty() && (waiting_.size() > kMostWaiting || now - waiting_.back().since > kLongestWait)) {
    gone.splice(gone.end(), waiting_, std::prev(waiting_.end()));
  }
}

std::size_t WorkerPool::Clear() {
  std::list<Waiting> gone;
  MutexLock lock(mutex_);
  gone.swap(waiting_);
  const std::size_t busy = busy_.size();
  busy_.clear();
  lock.Unlock();
  return gone.size() + busy;
}

}  // namespace hotplate::server
