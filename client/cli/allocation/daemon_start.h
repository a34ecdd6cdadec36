// Shared by the ways to start a daemon: on this machine, by a batch job, in an existing allocation.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/command.h"
#include "hotplate/v1/server.pb.h"

namespace hotplate::cli {

// The info of the daemon of this name, if one answers. Makes no attempt if the record's process is gone.
absl::StatusOr<v1::GetServerInfoResponse> AskDaemon(const Settings& settings, const std::string& name);

// A usage error for options that `up` has itself, and for options with which hotplated does not serve.
absl::Status CheckDaemonOptions(const std::vector<std::string>& words);

// An interpreter as `up` and `env` take it: a path from this folder on, or a program in the node's PATH, unchanged.
std::string InterpreterPath(const std::string& python);

// --python and --module of `up` as words of its own, NAME=VALUE. A usage error for what cannot be meant.
absl::StatusOr<std::vector<std::string>> PythonOptions(const Arguments& arguments);

// --name, else HOTPLATE_NAME, else empty; a usage error where it cannot be a name.
absl::StatusOr<std::string> WantedName(const Invocation& call);

// "\n  from here:  hotplate kernels · …"
std::string FromHere();

}  // namespace hotplate::cli
