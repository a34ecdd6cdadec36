// Timed work, on a thread of its own: pending notifications, progress, time limits, clients that did not come back,
// freed memory, and expiry.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "kernels/base/mutex.h"
#include "server/core/jobs/jobs.h"
#include "server/core/run/devices.h"
#include "server/core/schedule/scheduler.h"
#include "server/core/schedule/sessions.h"
#include "server/core/sweeps/sweeps.h"

namespace hotplate::core {

class Ticker {
 public:
  struct Parts {
    Jobs& jobs;
    Scheduler& scheduler;
    Sessions& sessions;
    Devices& devices;
    Sweeps& sweeps;
    std::function<void(Job&, const std::string& reason)> cancel;
    std::function<void()> queue_left;  // looks again at jobs that are left for the next daemon
    nanoseconds disconnect_grace;      // for the reason
  };
  explicit Ticker(Parts parts);
  ~Ticker();

 private:
  void Run();
  bool Sleep();  // false: the ticker stops
  void LookAtJobs();
  void Expire();

  const Parts parts_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hotplate::core
