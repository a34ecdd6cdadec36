// What the ways to start a daemon have in common: on this machine, by a batch job, in an allocation that is there.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/command.h"
#include "hotplate/v1/server.pb.h"

namespace hotplate::cli {

// What the daemon of this name says of itself, if one answers. No attempt where the record's process is gone.
absl::StatusOr<v1::GetServerInfoResponse> AskDaemon(const Settings& settings, const std::string& name);

// A usage error for what `up` itself has an option for, and for what has hotplated do something else than serve.
absl::Status CheckDaemonOptions(const std::vector<std::string>& words);

// --name, else HOTPLATE_NAME, else empty; a usage error where it cannot be a name.
absl::StatusOr<std::string> WantedName(const Invocation& call);

// "\n  from here:  hotplate kernels · …"
std::string FromHere();

}  // namespace hotplate::cli
