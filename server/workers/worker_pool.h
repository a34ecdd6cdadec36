// Workers that wait for their next call. There is one for each call that runs; those that wait are few.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <set>
#include <string>

#include "kernels/base/mutex.h"
#include "server/workers/call_worker.h"

namespace hotplate::server {

// Thread-safe.
class WorkerPool {
 public:
  static constexpr std::size_t kMostWaiting = 16;  // the one that waits for longest goes
  // One that has waited for so long goes, when another one comes or goes.
  static constexpr std::chrono::minutes kLongestWait{10};

  // The worker that came last under this key. Null: there is none.
  std::unique_ptr<CallWorker> Take(const std::string& key);
  // One that was started anew, for a call.
  void Add(const CallWorker& worker);
  // After its call.
  void Return(const std::string& key, std::unique_ptr<CallWorker> worker);
  // Ends those that wait, and those that have a call when they have ended it. Returns how many there are.
  std::size_t Clear();

 private:
  struct Waiting {
    std::string key;
    std::unique_ptr<CallWorker> worker;
    std::chrono::steady_clock::time_point since;
  };

  void Drop(std::list<Waiting>& gone) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::list<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // newest first
  std::set<const CallWorker*> busy_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::server
