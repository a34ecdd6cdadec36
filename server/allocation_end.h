// When the allocation ends, as Slurm says it now: an administrator may change the limit while the daemon runs.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"
#include "kernels/mutex.h"
#include "server/core/types.h"

namespace hotplate::server {

// Asks again and again, on a thread of its own. Thread-safe.
class AllocationEnd {
 public:
  struct Options {
    std::optional<core::WallTime> known;  // to begin with
    // May take seconds; is to return soon when it is asked to stop.
    std::function<absl::StatusOr<core::WallTime>(const std::stop_token& stop)> ask;
    // What else there is to ask, after each answer, when that is known to all. As `ask`; may be left out.
    std::function<void(const std::stop_token& stop)> then = {};
    std::chrono::nanoseconds interval{};  // zero: never ask
    // Both on the asking thread. An answer that is another than before; why there is none, once until there is one.
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
  // Asks at once. False: nobody asks here.
  bool Refresh();
  // Begins to ask; nothing before it.
  void Start();
  // Asks no more. Waits for a question under way, which gives up.
  void Stop();

 private:
  void Run();

  const Options options_;
  std::atomic<std::int64_t> end_;  // nanoseconds since 1970; 0: not known
  std::atomic<std::uint64_t> answers_{0};
  std::stop_source stop_;
  Mutex mutex_;
  CondVar wake_;
  bool refresh_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Asks squeue about one job of this node's own cluster, whatever other cluster the user's shell may prefer.
absl::StatusOr<core::WallTime> AskSqueue(const std::string& job_id, const std::stop_token& stop);

// The end of the job in what `squeue -o "%A %e"` printed with SLURM_TIME_FORMAT=%s: for a job array there are lines of
// other jobs too. NOT_FOUND quotes what is there instead.
absl::StatusOr<core::WallTime> ParseSqueue(std::string_view output, const std::string& job_id);

// When those who watch are told that the end is near: ten and two minutes before it. Told once each, again only after
// the end was put off.
class EndWarnings {
 public:
  // True if now, with so much left, is the time.
  bool Due(std::chrono::nanoseconds left);

 private:
  bool said_[2] = {false, false};
};

}  // namespace hotplate::server
