// The functions that a text may call, by name. Standard library only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/array/dtype.h"
#include "kernels/expression/operators.h"
#include "kernels/expression/program.h"

namespace hotplate::expression {

struct Function {
  enum class Kind : std::uint8_t {
    kOperator,     // `op`
    kReduction,    // `reduction`
    kCast,         // to `dtype`
    kAstype,       // astype(x, dtype)
    kRound,        // rint, but integers stay as they are
    kClip,         // clip(x, low, high)
    kTranspose,    // transpose(x, axes...)
    kStrided,      // strided(x, offset, shape, strides)
    kBroadcastTo,  // broadcast_to(x, shape)
    kIndex,        // index(axis)
  };

  std::string_view name;
  Kind kind = Kind::kOperator;
  Operator op = Operator::kAdd;
  Reduction reduction = Reduction::kNone;
  DType dtype = DType::kFloat64;
};

// Null if there is none. Casts to all dtypes have names, bfloat16's too: whether it can be computed with is not asked
// here.
const Function* FindFunction(std::string_view name);

// For suggestions.
std::vector<std::string> FunctionNames();

}  // namespace hotplate::expression
