// Workers that wait for their next call. There is one for each call that runs; those that wait are few.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "kernels/base/mutex.h"
#include "server/workers/call_worker.h"

namespace hotplate::server {

// Thread-safe.
class WorkerPool {
 public:
  static constexpr std::size_t kMostWaiting = 16;  // the one that waits for longest goes

  // The worker that came last under this key. Null: there is none.
  std::unique_ptr<CallWorker> Take(const std::string& key);
  void Return(const std::string& key, std::unique_ptr<CallWorker> worker);
  // Ends those that wait. Returns how many there were.
  std::size_t Clear();

 private:
  struct Waiting {
    std::string key;
    std::unique_ptr<CallWorker> worker;
  };

  Mutex mutex_;
  std::list<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // newest first
};

}  // namespace hotplate::server
