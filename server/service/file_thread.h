// Runs what waits for files, or for programs, on threads of its own, mostly one: a file system that hangs then holds up
// inputs by path, and nothing else. Each is started when a task finds the others at work. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/mutex.h"

namespace hotplate::server {

class FileThread {
 public:
  static constexpr std::size_t kMostTasks = 1024;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

  explicit FileThread(std::size_t most_threads = 1) : most_threads_(most_threads) {}
  ~FileThread() { Stop(); }

  // RESOURCE_EXHAUSTED names the limit: too many tasks wait or they hold too much, and `task` will not run. `bytes`:
  // the task's size; a task without others may have any size.
  absl::Status Post(std::uint64_t bytes, std::function<void()> task);

  // Returns when what waited has run. FAILED_PRECONDITION for tasks that come later. Not to be called by a task.
  void Stop();

 private:
  struct Task {
    std::uint64_t bytes = 0;
    std::function<void()> run;
  };
  void Loop();

  const std::size_t most_threads_;
  Mutex mutex_;
  CondVar wake_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of tasks_ and of those that run
  std::size_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);  // joined by the destructor, without it
};

}  // namespace hotplate::server
