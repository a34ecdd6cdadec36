// The second half of `up` on a cluster, the same for a job that was submitted and for one that is attached to: wait for
// the daemon, and tell how that ended.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "client/cli/allocation/notes.h"
#include "client/cli/allocation/waiting_line.h"
#include "client/cli/command.h"
#include "client/cli/interrupt.h"
#include "client/cli/terminal/json.h"
#include "kernels/base/mutex.h"

namespace hotplate::cli {

// Ctrl-C while `up` is at work: a question to the scheduler is broken off, a pause too. Make it before any other
// thread.
class UpInterrupts {
 public:
  UpInterrupts();
  bool interrupted() const { return stop_.stop_requested(); }
  std::stop_token token() const { return stop_.get_token(); }
  // While something is at work that must come to its end, no Ctrl-C ends the process; the first one has `told` called,
  // on another thread.
  void Hold(std::function<void()> told);
  void Release();
  // False: interrupted.
  bool Pause(std::chrono::milliseconds longest);

 private:
  std::stop_source stop_;
  Mutex mutex_;
  std::function<void()> told_ ABSL_GUARDED_BY(mutex_);
  CondVar changed_;
  InterruptWatch watch_;  // last: its thread uses the rest
};

// --on-interrupt: the fate of the job if the wait is interrupted. Empty: ask on a terminal, else keep.
absl::StatusOr<std::string> OnInterruptOption(const Invocation& call);

// The process that starts a daemon in an attached allocation.
struct Starter {
  std::function<std::optional<int>()> ended;
  std::function<void()> end;
};

struct UpWait {
  const Invocation& call;
  Scheduler& scheduler;
  AllocationNote note;
  UpInterrupts& interrupts;
  WaitingLine& line;
  std::string on_interrupt;
  std::optional<std::chrono::nanoseconds> timeout;
  bool submitted = true;  // by this command; false: an earlier one did
  std::optional<Starter> starter = {};
  std::size_t output_start = 0;  // new output begins here

  // Waits, makes the daemon the current one, and answers.
  absl::Status Run();

 private:
  absl::Status Ready(const v1::GetServerInfoResponse& info);
  absl::Status Over(const JobStatus& status);
  absl::Status Unreachable(const JobStatus& status, const absl::Status& why);
  absl::Status BrokenOff();
  std::string WhatNext() const;  // while it is not ready
};

// The job of a note as JSON: name, jobId, cluster, site, output, state, and the optional members.
JsonObject AllocationJson(const AllocationNote& note, const std::string& state);

}  // namespace hotplate::cli
