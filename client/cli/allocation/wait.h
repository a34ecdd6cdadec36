// Waiting for the daemon of an allocation: Slurm is asked now and then, the endpoint record is looked for often.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/allocation/notes.h"
#include "client/cli/allocation/waiting_line.h"
#include "client/cli/scheduler/scheduler.h"
#include "hotplate/v1/server.pb.h"

namespace hotplate::cli {

struct AllocationWait {
  using Steady = std::chrono::steady_clock;

  enum class End {
    kReady,        // `info` is its answer
    kOver,         // the job ended without a daemon that was ready: `status` says how
    kUnreachable,  // the daemon is there and cannot be talked to: `why`
    kInterrupted,
    kTimeout,
  };
  struct Result {
    End end;
    std::string name;  // the daemon's own, once there is its record
    v1::GetServerInfoResponse info;
    JobStatus status;
    absl::Status why;
  };

  Scheduler& scheduler;
  const AllocationNote& note;
  std::string directory;
  WaitingLine& line;
  // Asks the daemon of that name for its info.
  std::function<absl::StatusOr<v1::GetServerInfoResponse>(const std::string& name)> ask;
  // False: interrupted.
  std::function<bool(std::chrono::milliseconds)> pause;
  // For an attached allocation: the exit status of the process that starts the daemon, once it has ended.
  std::function<std::optional<int>()> starter_ended = [] { return std::nullopt; };
  std::function<Steady::time_point()> now = Steady::now;

  // Until `deadline`, if there is one.
  Result Run(std::optional<Steady::time_point> deadline) const;
};

// How long to leave Slurm alone before it is asked again: soon at first, then seldom. `waited`: in the queue, or since
// the job runs.
std::chrono::milliseconds NextQuestion(std::chrono::nanoseconds waited, JobStatus::Phase phase);

}  // namespace hotplate::cli
