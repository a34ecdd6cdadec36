// The state of a job on standard error: one line, redrawn, on a terminal only; nothing in a pipe. Thread-safe: the
// client library calls from threads of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "client/cli/terminal/console.h"
#include "hotplate/v1/jobs.pb.h"
#include "kernels/base/mutex.h"

namespace hotplate::cli {

class Progress {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `clock` is a seam for tests.
  Progress(Console& console, bool wanted, std::function<Time()> clock = std::chrono::steady_clock::now)
      : console_(console), shown_(wanted && console.err_terminal), clock_(std::move(clock)) {}
  ~Progress() { Clear(); }

  void Upload(std::uint64_t done, std::uint64_t total) { Transfer("upload  ", done, total); }
  void Download(std::uint64_t done, std::uint64_t total) { Transfer("download", done, total); }
  void Update(const v1::JobUpdate& update);
  // Removes the line. Later drawing begins a new one.
  void Clear();

  // The job's id, once an update has named it.
  std::string job_id() const;

 private:
  void Transfer(const char* what, std::uint64_t done, std::uint64_t total);
  // The rate and the time left, as far as the reports tell; else empty.
  std::string Pace(double fraction, Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Draws every 50 ms at most, except for a line that stays (`last`) or brings news (`now_please`).
  void Draw(const std::string& line, bool last, bool now_please = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Console& console_;
  const bool shown_;
  const std::function<Time()> clock_;

  mutable Mutex mutex_;
  std::string phase_ ABSL_GUARDED_BY(mutex_);
  // The first report of a transfer in this phase. Bytes sent before it took an unknown time.
  std::uint64_t first_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  Time first_time_ ABSL_GUARDED_BY(mutex_);
  Time drawn_at_ ABSL_GUARDED_BY(mutex_);
  bool drawn_ ABSL_GUARDED_BY(mutex_) = false;
  // A report of the job that runs: how far it was, and when that came.
  struct Report {
    double fraction;
    Time time;
  };
  std::optional<double> first_ ABSL_GUARDED_BY(mutex_);  // may be old: reported before anybody watched
  std::optional<Report> measured_from_ ABSL_GUARDED_BY(mutex_);
  std::string job_id_ ABSL_GUARDED_BY(mutex_);
  std::string device_ ABSL_GUARDED_BY(mutex_);
};

// "████████▌           " of `width` columns.
std::string Bar(double fraction, int width);

}  // namespace hotplate::cli
