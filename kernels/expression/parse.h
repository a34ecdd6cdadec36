// From a text to its tree. Standard library only.
#pragma once

#include <string_view>
#include <variant>

#include "kernels/expression/check.h"
#include "kernels/expression/syntax.h"

namespace hotplate::expression {

// Errors are of the kinds kSyntax and kLimit. Texts that are too long are refused unread; one that nests too deep, or
// has too many nodes, as soon as it does. The stack that this needs is bounded by kMaxDepth.
std::variant<Syntax, Error> Parse(std::string_view text);

}  // namespace hotplate::expression
