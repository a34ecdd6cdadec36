// hotplate up --local: a daemon on this machine; one that runs already is as good.
#pragma once

#include "absl/status/status.h"
#include "client/cli/command.h"

namespace hotplate::cli {

absl::Status LocalUp(const Invocation& call);

}  // namespace hotplate::cli
