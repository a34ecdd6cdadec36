// One job from files to files, while somebody waits: with progress, Ctrl-C, and the daemon's words at its end.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/cli/command.h"
#include "client/cli/jobs/job_call.h"

namespace hotplate::cli {

// `prepare` is called once, when Ctrl-C is watched for.
absl::Status RunInForeground(const Invocation& call, absl::FunctionRef<absl::StatusOr<PreparedJob>()> prepare);

}  // namespace hotplate::cli
