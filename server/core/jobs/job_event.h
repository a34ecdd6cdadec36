// The life of a job as a pure function: what an event makes of a state. Side effects belong to the caller, after.
//
//   PENDING --start--> RUNNING --complete--> COMPLETED
//      |                  |------fail------> FAILED
//      |--cancel----------|--cancelled-----> CANCELLED    (a cancel of a RUNNING job is a request until it took)
//      |--fail            '------expire----> TIMEOUT
#pragma once

#include "absl/status/statusor.h"
#include "server/core/types.h"

namespace hotplate::core {

enum class JobTransition { kStart, kComplete, kFail, kCancel, kExpire };

// FAILED_PRECONDITION, naming both, for a transition that the state does not have.
absl::StatusOr<JobState> Apply(JobState state, JobTransition transition);

std::string_view Name(JobState state);  // "PENDING"
std::string_view Name(JobTransition transition);

}  // namespace hotplate::core
