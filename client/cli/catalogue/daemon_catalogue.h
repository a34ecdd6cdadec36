// The catalogue in force: the daemon's if one answers, else the built-in one.
#pragma once

#include <vector>

#include "client/cli/command.h"
#include "hotplate/v1/catalogue.pb.h"

namespace hotplate::cli {

// For a command that has an answer without a daemon too: waits two seconds at most, and tries once.
absl::StatusOr<client::Client> ConnectBriefly(const Invocation& call);

std::vector<v1::KernelSpec> KernelsThatApply(const Invocation& call);

}  // namespace hotplate::cli
