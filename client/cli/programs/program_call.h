// From the words of exec and python to a program that the daemon can run, and one that runs with this command's
// standard streams.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/command.h"

namespace hotplate::cli {

absl::StatusOr<v1::Program> ProgramFor(const Invocation& call, const ProgramWords& words);

// NAME=value of this process's environment, as far as --export says. What belongs to this machine or session alone is
// left out: HOTPLATE_*, SSH_*, DISPLAY, XDG_RUNTIME_DIR.
std::vector<std::string> ExportedEnvironment(const std::string& which, const std::vector<std::string>& own);

// Runs it to its end: standard streams go both ways, signals go to it. The status has the program's own exit code, 128
// + n where signal n ended it.
absl::Status RunAttached(const Invocation& call, const v1::Program& program);
absl::Status SubmitDetached(const Invocation& call, const v1::Program& program);

}  // namespace hotplate::cli
