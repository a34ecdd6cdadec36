// The device's worker threads, used instead of OpenMP's. OpenMP's idle threads spin for milliseconds, which only the
// environment can change before the program starts, and its regions wait for every thread, even for one whose processor
// is busy with another process. Here idle workers sleep once waking them costs less than they would, and a call never
// waits for a worker that has not begun.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "kernels/base/mutex.h"

namespace hotplate {

// Thread-safe: lanes share it.
class ThreadPool {
 public:
  // Starts them when they are first needed.
  explicit ThreadPool(int workers) : limit_(workers) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls work(argument) on this thread and at the same time on up to `helpers` free workers. Returns when all those
  // calls have returned. `work` takes pieces until none is left, so the number of threads does not matter.
  void Run(int helpers, void (*work)(void*), void* argument);

 private:
  struct Call {
    void (*work)(void*);
    void* argument;
    int wanted;                  // helpers that may still join; guarded by mutex_
    std::atomic<int> active{0};  // helpers inside work(); changed under mutex_, and read without it
    Call* next = nullptr;
  };

  void Work();
  void Remove(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int limit_;

  Mutex mutex_;
  CondVar wake_, done_;
  Call* calls_ ABSL_GUARDED_BY(mutex_) = nullptr;  // that want helpers
  int idle_ ABSL_GUARDED_BY(mutex_) = 0;           // workers outside work(), awake or asleep
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> called_{false};  // calls_ or stopping_; changed under mutex_, and read without it by workers awake
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);  // joined by the destructor, without it
};

}  // namespace hotplate
