// Frees arrays without a reference in this process, on a thread of its own: dropping the last reference must not wait
// for a daemon.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "client/lib/client.h"

namespace hotplate::python {

class Releaser {
 public:
  explicit Releaser(client::Client client) : client_(std::move(client)) {}
  // Frees the arrays still owned, up to the first error and for two seconds at most: the rest is freed with the
  // session.
  ~Releaser();
  Releaser(const Releaser&) = delete;
  Releaser& operator=(const Releaser&) = delete;

  void Own(const std::string& id);
  void Disown(const std::string& id);
  // Does nothing if the array is not owned.
  void Release(const std::string& id);

 private:
  void Begin();  // with mutex_
  void Work();

  client::Client client_;
  client::Cancellation stop_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::condition_variable wake_;
  std::set<std::string> owned_;
  std::deque<std::string> to_free_;
  bool closing_ = false;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace hotplate::python
