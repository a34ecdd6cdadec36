// The end: no new jobs, and time for what goes on.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "kernels/base/mutex.h"
#include "server/core/arrays/arrays.h"
#include "server/core/jobs/jobs.h"
#include "server/core/schedule/activities.h"

namespace hotplate::core {

// Thread-safe.
class Drain {
 public:
  struct Parts {
    Jobs& jobs;
    Activities& activities;
    const ArrayStore& arrays;
    const Clock& clock;
    // Cancels a job, or leaves a durable one to the next daemon.
    std::function<void(Job&, const std::string& reason)> cut_off;
    const LogSink& log;
  };
  // Clients have what is theirs when no observer has anything unsent, the last use is kLinger ago (between two calls of
  // one client nothing else says that there is one), and the large outputs of attached jobs were read or freed; those
  // that nobody comes for are given up when nothing has moved for kFetchWithin.
  static constexpr nanoseconds kLinger = std::chrono::seconds(1);
  static constexpr nanoseconds kFetchWithin = std::chrono::seconds(10);

  explicit Drain(Parts parts) : parts_(std::move(parts)) {}

  // No new jobs from now on, and the time that Await has for those that go on.
  void Begin(nanoseconds timeout, const std::string& reason);
  // It ends after `timeout` from now at the latest. Never lengthens it.
  void Shorten(nanoseconds timeout);
  // Returns when no job goes on, no activity does, and clients have what is theirs, or all jobs have been cancelled
  // after the timeout. True if every job ended by itself. A lane in an uninterruptible call is not waited for.
  bool Await();

 private:
  using Time = std::chrono::steady_clock::time_point;  // by the real clock: this is about leaving in time
  Time end() const;
  // True while clients still come for results, even if no job goes on.
  bool OwesClients();
  // True if there was nothing to cut off.
  bool CutOff();

  const Parts parts_;
  mutable Mutex mutex_;
  Time end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::core
