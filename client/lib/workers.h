// A few threads for the waits of RunAsync (uploads, downloads). None is started before there is work.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "kernels/base/mutex.h"

namespace hotplate::client {

class Workers {
 public:
  Workers() = default;
  ~Workers() { Close(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // After Close: runs `work` on the calling thread.
  void Add(std::function<void()> work);
  // Runs the queued work, then returns. Call it from any thread but one of its own.
  void Close();

 private:
  static constexpr std::size_t kMaxThreads = 4;

  void Work();

  Mutex mutex_;
  CondVar wake_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace hotplate::client
