// The Program of a call as a kernel gets it: the parameter that is a choice has the text, the others are its numbers.
// Standard library only; also for the plug-in.
#pragma once

#include <string>
#include <variant>

#include "kernels/call/call.h"
#include "kernels/expression/check.h"

namespace hotplate::expression {

// The same for calls that have the same Program.
std::string KeyOf(const Call& call);

// An error is a defect of the daemon's, which has checked the text.
std::variant<Program, Error> ProgramOf(const Call& call);

}  // namespace hotplate::expression
