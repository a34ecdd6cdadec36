// Dtypes and operators in CUDA's words. Standard library only.
#pragma once

#include <string>

#include "kernels/array/dtype.h"
#include "kernels/expression/operators.h"

namespace hotplate::expression {

// CUDA's type of a value: float for float16 and bfloat16; and of an element in memory.
const char* ValueType(DType dtype);
const char* MemoryType(DType dtype);
// `value` (of `from`, printed) as `to`. `exact`: a float16 that has been rounded to one.
std::string CastText(DType from, DType to, const std::string& value, bool exact);

// The function of the prelude (cuda_text_prelude.h); null for an operator that is written without one.
const char* FunctionOf(Operator op);

}  // namespace hotplate::expression
