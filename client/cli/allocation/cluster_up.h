// hotplate up on a cluster: a batch job for the daemon, and the wait until it is ready.
#pragma once

#include "absl/status/status.h"
#include "client/cli/command.h"

namespace hotplate::cli {

// By the profile of a site: checked, submitted, waited for.
absl::Status ClusterUp(const Invocation& call);

// `up` in an allocation that the user already has (salloc, an interactive job): a step beside its other work.
absl::Status AttachUp(const Invocation& call);

}  // namespace hotplate::cli
