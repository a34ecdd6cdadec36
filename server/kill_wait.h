// What the batch system leaves a job between the signal that ends it and the one that kills it.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/core/types.h"

namespace hotplate::server {

// Slurm's KillWait where its configuration does not say otherwise, and the JOB_TERMINATE_INTERVAL of LSF.
inline constexpr std::chrono::seconds kSlurmKillWait{30}, kLsfKillWait{10};

// KillWait of this node's own cluster (scontrol show config), whatever other cluster the user's shell may prefer.
absl::StatusOr<core::nanoseconds> AskKillWait(const std::stop_token& stop);

// NOT_FOUND: there is no line "KillWait = 30 sec" in it.
absl::StatusOr<core::nanoseconds> ParseKillWait(std::string_view config);

// How the daemon divides its last moments. Together they are less than the kill wait, even if every one of them is
// needed to its end.
struct LastMoments {
  core::nanoseconds jobs;     // at most, for jobs to end by themselves
  core::nanoseconds after;    // for arrays that the last of them made
  core::nanoseconds resort;   // on top of any of these times, for whatever goes on to see that it is over
  core::nanoseconds goodbye;  // for last messages to reach clients that read them
};

// 30s: 20s, 2s, 2s and 500ms; all but the first are also what a daemon takes that nobody kills.
LastMoments Divide(core::nanoseconds kill_wait);

}  // namespace hotplate::server
