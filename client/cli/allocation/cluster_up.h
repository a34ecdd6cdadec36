// hotplate up on a cluster: a batch job for the daemon, and the wait until it is ready.
#pragma once

#include "absl/status/status.h"
#include "client/cli/command.h"

namespace hotplate::cli {

// By the profile of a site: checked, submitted, waited for.
absl::Status ClusterUp(const Invocation& call);

// In an allocation that the user has already (salloc, an interactive job): a step beside what runs there.
absl::Status AttachUp(const Invocation& call);

}  // namespace hotplate::cli
