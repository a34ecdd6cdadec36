// hotplate run --pipe: jobs as JSON lines in, their updates and ends as JSON lines out, many of them in flight
// together.
//
//   1. The main thread reads a line, makes a job of it and starts it on the client's one Run stream. When the limit of
//      jobs in flight is reached, it stops reading: the pipe fills, and its writer waits.
//   2. The client library calls with updates and ends on threads of its own. These write the answers themselves: while
//      nobody reads standard output they wait, and the library takes nothing from the daemon meanwhile.
//   3. The main thread waits for input, for ends, for Ctrl-C, and for standard output to be closed.
#pragma once

#include "absl/status/status.h"
#include "client/cli/command.h"

namespace hotplate::cli {

absl::Status RunPipe(const Invocation& call);

}  // namespace hotplate::cli
