// When the allocation ends, as Slurm says it now: an administrator may change the limit while the daemon runs.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/core/types.h"

namespace hotplate::server {

// Asks again and again, on a thread of its own. Thread-safe.
class AllocationEnd {
 public:
  struct Options {
    std::optional<core::WallTime> known;  // to begin with
    // May take seconds; is to return soon when it is asked to stop.
    std::function<absl::StatusOr<core::WallTime>(const std::stop_token& stop)> ask;
    // A further question after each answer, once everybody knows that one. Like `ask`; may be empty.
    std::function<void(const std::stop_token& stop)> then = {};
    std::chrono::nanoseconds interval{};  // zero: never ask
    // Both are called on the asking thread: `changed` with an answer that differs from the previous one; `failed` once
    // with the reason, until there is an answer again.
    std::function<void(std::optional<core::WallTime> before, core::WallTime now)> changed;
    std::function<void(const absl::Status& why)> failed;
  };
  explicit AllocationEnd(Options options);
  ~AllocationEnd() { Stop(); }
  AllocationEnd(const AllocationEnd&) = delete;
  AllocationEnd& operator=(const AllocationEnd&) = delete;

  std::optional<core::WallTime> Get() const;
  // How often Slurm was asked and has answered, with or without an end.
  std::uint64_t answers() const { return answers_.load(); }
  // Asks at once. False: nothing asks.
  bool Refresh();
  // Begins to ask; nothing asks before.
  void Start();
  // Asks no more. Waits for a question under way, which gives up.
  void Stop();

 private:
  void Run();

  const Options options_;
  std::atomic<std::int64_t> end_;  // nanoseconds since 1970; 0: unknown
  std::atomic<std::uint64_t> answers_{0};
  std::stop_source stop_;
  Mutex mutex_;
  CondVar wake_;
  bool refresh_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// The end of one job of this node's own cluster. NOT_FOUND: squeue does not know the job, or tells no end of it.
absl::StatusOr<core::WallTime> AskSqueue(const std::string& job_id, const std::stop_token& stop);

// When those who watch are told that the end is near: ten and two minutes before it. Told once each, again only after
// the end was put off.
class EndWarnings {
 public:
  // True if a warning is due with `left` remaining.
  bool Due(std::chrono::nanoseconds left);

 private:
  bool said_[2] = {false, false};
};

}  // namespace hotplate::server
