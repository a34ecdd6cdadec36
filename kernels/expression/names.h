// The names of a text, found without knowing what they are. Standard library only.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/expression/check.h"

namespace hotplate::expression {

// The kernel that runs every text, and its parameter that has the text; the others are the text's numbers.
inline constexpr char kKernel[] = "expression", kTextParam[] = "expression";

struct Names {
  std::vector<std::string> taken;    // inputs and scalars, in the order of their first use; places (i, j) too
  std::vector<std::string> outputs;  // in the order of their statements
};

// kSyntax and kLimit errors only.
std::variant<Names, Error> NamesIn(std::string_view text);

}  // namespace hotplate::expression
