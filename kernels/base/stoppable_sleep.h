// How a thread waits that others may tell to stop.
#pragma once

#include <chrono>
#include <stop_token>

#include "kernels/base/mutex.h"

namespace hotplate {

// Sleeps for that long, or until it is told to stop, and then returns false.
inline bool SleepUnlessStopped(const std::stop_token& stop, std::chrono::nanoseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  Mutex mutex;
  CondVar stopped;
  const std::stop_callback wake(stop, [&] {
    MutexLock lock(mutex);
    stopped.NotifyAll();
  });
  MutexLock lock(mutex);
  while (!stop.stop_requested() && stopped.WaitUntil(mutex, until)) {
  }
  return !stop.stop_requested();
}

}  // namespace hotplate
