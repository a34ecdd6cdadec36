// The catalogue as it applies: the daemon's where one answers, else the one that was built in.
#pragma once

#include <vector>

#include "client/cli/command.h"
#include "hotplate/v1/catalogue.pb.h"

namespace hotplate::cli {

std::vector<v1::KernelSpec> KernelsThatApply(const Invocation& call);

}  // namespace hotplate::cli
