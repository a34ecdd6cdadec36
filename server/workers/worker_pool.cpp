#include "server/workers/worker_pool.h"

#include <algorithm>
#include <utility>

namespace hotplate::server {

std::unique_ptr<CallWorker> WorkerPool::Take(const std::string& key) {
  std::list<Waiting> gone;  // ended without the lock
  MutexLock lock(mutex_);
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const auto next = std::next(one);
    if (one->key == key) {
      if (one->worker->alive()) {
        std::unique_ptr<CallWorker> worker = std::move(one->worker);
        waiting_.erase(one);
        lock.Unlock();
        return worker;
      }
      gone.splice(gone.end(), waiting_, one);
    }
    one = next;
  }
  lock.Unlock();
  return nullptr;
}

void WorkerPool::Return(const std::string& key, std::unique_ptr<CallWorker> worker) {
  std::list<Waiting> gone;  // ended without the lock
  MutexLock lock(mutex_);
  waiting_.push_front({key, std::move(worker)});
  while (waiting_.size() > kMostWaiting) gone.splice(gone.end(), waiting_, std::prev(waiting_.end()));
  lock.Unlock();
}

std::size_t WorkerPool::Clear() {
  std::list<Waiting> gone;
  MutexLock lock(mutex_);
  gone.swap(waiting_);
  lock.Unlock();
  return gone.size();
}

}  // namespace hotplate::server
