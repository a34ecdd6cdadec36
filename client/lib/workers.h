// A few threads for the waits of RunAsync (uploads, downloads). None is started before there is work.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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

  std::mutex mutex_;
  // Guarded by mutex_.
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool closing_ = false;
};

}  // namespace hotplate::client
