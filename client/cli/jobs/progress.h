// What a job is doing, on standard error: one line that is redrawn, only on a terminal. In a pipe nothing at all.
// Thread-safe: the client library calls from threads of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "client/cli/terminal/console.h"
#include "hotplate/v1/jobs.pb.h"

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
  // Removes the line; what is drawn later starts anew.
  void Clear();

  // The job's id, once an update has named it.
  std::string job_id() const;

 private:
  void Transfer(const char* what, std::uint64_t done, std::uint64_t total);
  // The rate and what is left of the time, as the reports so far tell; empty while they do not.
  std::string Pace(double fraction, Time now);
  // At most every 50 ms, but for a line that stays (`last`) or is news (`now_please`).
  void Draw(const std::string& line, bool last, bool now_please = false);

  Console& console_;
  const bool shown_;
  const std::function<Time()> clock_;

  mutable std::mutex mutex_;  // guards what follows
  std::string phase_;
  // A transfer's first report in this phase: bytes that were there by then took a time that nobody has measured.
  std::uint64_t first_bytes_ = 0;
  Time first_time_;
  Time drawn_at_;
  bool drawn_ = false;
  // A report of the job that runs: how far it was, and when that came.
  struct Report {
    double fraction;
    Time time;
  };
  std::optional<double> first_;  // may be old when it comes: what the job said before somebody watched
  std::optional<Report> measured_from_;
  std::string job_id_, device_;
};

// "████████▌           " of `width` columns.
std::string Bar(double fraction, int width);

}  // namespace hotplate::cli
