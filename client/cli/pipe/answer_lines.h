// Answers to lines of standard input, as JSON lines on standard output.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "client/cli/jobs/job_call.h"
#include "client/cli/jobs/job_files.h"
#include "hotplate/v1/jobs.pb.h"
#include "kernels/base/mutex.h"

namespace hotplate::cli {

// An array without a place comes as values up to so many elements, and else as a summary.
inline constexpr std::size_t kMostValues = 4096;

// How answers name the line that they are for.
struct Ticket {
  std::uint64_t line = 0;
  std::string tag;  // JSON: the user's, else the line's number
};

// {"tag", "job", "state", "device"} or {"tag", "progress"}; empty for an update that is nothing to tell.
std::string UpdateLine(const Ticket& ticket, const v1::JobUpdate& update);
// {"tag", "job", "state", "outputs", "receipt", "client"}: outputs by name.
std::string CompletedLine(const Ticket& ticket, const PlacedResult& placed, const JobOutputs& files);
// {"tag", "job", "state", "line", "error", "receipt"}: without a job for a line that was refused, without a state and a
// receipt for a job whose end is not known. `of_job`: the same error in the client library's words, which knows the
// job.
std::string FailedLine(const Ticket& ticket, const absl::Status& status, const absl::Status& of_job);

// Thread-safe. A write waits for the reader, and with it whoever writes: nothing is kept here.
class AnswerLines {
 public:
  // False once standard output is broken: nothing is written any more.
  bool Write(const std::string& json);
  void Break() { broken_ = true; }
  bool broken() const { return broken_; }

 private:
  Mutex mutex_;
  std::string line_ ABSL_GUARDED_BY(mutex_);  // the one that is being written: lines stay whole
  std::atomic<bool> broken_{false};
};

}  // namespace hotplate::cli
