// Frees arrays without a reference in this process, on a thread of its own: dropping the last reference must not wait
// for a daemon.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <thread>

#include "client/lib/client.h"
#include "kernels/base/mutex.h"

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
  void Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work();

  client::Client client_;
  client::Cancellation stop_;
  Mutex mutex_;
  CondVar wake_;
  std::set<std::string> owned_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> to_free_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);  // joined by the destructor, without it
};

}  // namespace hotplate::python
