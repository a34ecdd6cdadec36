// A parameter's value that is within its range but refused by a spec's own check.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "kernels/spec/spec.h"

namespace hotplate {

// "random: n is 3; it must ...", for the parameter's field.
absl::Status RefusedParam(const BoundCall& call, const std::string& param, const std::string& otherwise);

}  // namespace hotplate
