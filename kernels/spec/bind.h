// Shared by binding a request and by building a spec: whether a parameter accepts a value.
#pragma once

#include <string>
#include <variant>

#include "kernels/spec/spec.h"

namespace hotplate {

// The value in the parameter's own type (an integer given for a float becomes one), or a sentence on why not:
// "n is 0; it must be an integer from 1 to 100".
std::variant<ParamValue, std::string> AcceptValue(const ParamSpec& param, const ParamValue& value);

// "an integer from 1 to 100", "a finite number", "one of naive, shared or fast"
std::string Expectation(const ParamSpec& param);

}  // namespace hotplate
