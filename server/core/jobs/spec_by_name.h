// A spec for a job whose own is not known: it has the name, and neither inputs nor outputs.
#pragma once

#include <string>

#include "kernels/spec/spec.h"

namespace hotplate::core {

SharedSpec SpecByName(const std::string& name);

}  // namespace hotplate::core
