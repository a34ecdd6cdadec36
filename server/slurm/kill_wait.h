// The time that the batch system leaves a job between the signal that ends it and the one that kills it.
#pragma once

#include <chrono>
#include <stop_token>

#include "absl/status/statusor.h"
#include "kernels/base/slurm.h"
#include "server/core/types.h"

namespace hotplate::server {

// Slurm's KillWait where its configuration does not say otherwise, and the JOB_TERMINATE_INTERVAL of LSF.
inline constexpr std::chrono::seconds kSlurmKillWait{30}, kLsfKillWait{10};

// KillWait of this node's own cluster (scontrol show config), regardless of the cluster that the user's shell prefers.
absl::StatusOr<core::nanoseconds> AskKillWait(const std::stop_token& stop);

// When it is asked for: Slurm's controller need not answer at once, and is not to be asked for ever.
class KillWaitTries {
 public:
  // True if now is the time: at first at once, then after 1, 4, 16 and 64 minutes more, and never again.
  bool Due(core::SteadyTime now);

 private:
  core::SteadyTime next_ = core::SteadyTime::min();
  core::nanoseconds pause_ = std::chrono::minutes(1);
  int left_ = 5;
};

// NOT_FOUND: "KillWait" is not a number of seconds there ("30 sec").
absl::StatusOr<core::nanoseconds> KillWaitOf(const SlurmConfig& config);

// How the daemon divides its last moments.
struct LastMoments {
  core::nanoseconds jobs{};     // at most, for jobs to end by themselves
  core::nanoseconds after{};    // for arrays that the last of them made
  core::nanoseconds goodbye{};  // for last messages to reach clients that read them
  // In addition, for the work still going on to notice the end: once for each step if nobody kills, once for all of
  // them if somebody does.
  core::nanoseconds resort{};
  core::nanoseconds last{};  // for record and log, which may lie on a file system that hangs

  // If every one of them is needed to its end.
  core::nanoseconds all() const;
};

// Together they are five sixths of the kill wait: batch scripts end after the daemon, and machines are slow. 30s:
// 18.5s, 2s, 500ms, 2s and 2s; a daemon that nobody kills uses all but the first. A kill wait of less than a second
// counts as one.
LastMoments Divide(core::nanoseconds kill_wait);

}  // namespace hotplate::server
