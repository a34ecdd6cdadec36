// Opens files for jobs on a thread of its own: a file system that hangs then holds up inputs by path, and nothing
// else. Started with the first task. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/status/status.h"

namespace hotplate::server {

class FileThread {
 public:
  static constexpr std::size_t kMostTasks = 1024;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

  FileThread() = default;
  ~FileThread();

  // RESOURCE_EXHAUSTED names the limit: too many tasks wait or they hold too much, and `task` will not run. `bytes`:
  // the task's size; a task without others may have any size.
  absl::Status Post(std::uint64_t bytes, std::function<void()> task);

 private:
  struct Task {
    std::uint64_t bytes = 0;
    std::function<void()> run;
  };
  void Loop();

  std::mutex mutex_;
  // Guarded by mutex_.
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  std::uint64_t bytes_ = 0;  // of tasks_ and of the one that runs
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hotplate::server
