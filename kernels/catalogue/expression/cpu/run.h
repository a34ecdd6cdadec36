// Runs a Machine.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/catalogue/expression/cpu/machine.h"
#include "kernels/devices/cpu/cpu_context.h"

namespace hotplate::expression {

// A number that came with the call, as its Scalar's dtype has it.
struct GivenNumber {
  std::int64_t integer = 0;
  double real = 0;
};

struct RunArrays {
  std::vector<const std::byte*> inputs;  // in the order in which Check was given them
  std::vector<std::string_view> names;   // theirs
  std::vector<std::byte*> outputs;       // in the order of the Program's
  std::vector<GivenNumber> numbers;      // in the order of the Program's scalars
};

// Invalid for an index that is out of bounds, a negative integer exponent, a number that its dtype cannot hold, and the
// smallest of no elements. With a warning for a division of integers by zero.
Outcome Run(const Machine& machine, const RunArrays& arrays, CpuContext& context);

// The element of a kScalar or kConstant node as it is in a register; `element` has room for any. False: an integer is
// out of the dtype's bounds.
bool ElementOf(const Node& node, const RunArrays& arrays, const Program& program, std::array<std::byte, 16>& element);

}  // namespace hotplate::expression
