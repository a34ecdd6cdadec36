// Opens files for jobs on a thread of its own: a file system that hangs then holds up inputs by path, and nothing
// else. Started with the first task. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace hotplate::server {

class FileThread {
 public:
  static constexpr std::size_t kLongestQueue = 1024;

  FileThread() = default;
  ~FileThread();

  // False, and `task` will not run, if the queue is full.
  bool Post(std::function<void()> task);

 private:
  void Loop();

  std::mutex mutex_;
  // Guarded by mutex_.
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hotplate::server
