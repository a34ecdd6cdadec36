// Jobs that wait in the journals of daemons whose names nobody has.
#pragma once

#include <string>

#include "client/cli/command.h"

namespace hotplate::cli {

// Reports them on standard error, with how to go on with them, when daemon `name` has come up.
void TellLeftBehind(const Invocation& call, const std::string& name);

}  // namespace hotplate::cli
