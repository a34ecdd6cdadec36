// The operators and casts as loops over a block of elements. float16 is float32 here; bool is a byte (Truth).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/array/dtype.h"
#include "kernels/expression/operators.h"

namespace hotplate::expression {

// An element of dtype bool. Any byte may lie in an array of bools; all but 0 are true.
enum class Truth : std::uint8_t { kFalse, kTrue };

// out[i] = f(a[i], b[i], c[i]) for i in [0, n). An operator of fewer arguments does not look at the others. `out` may
// be one of the arguments if its elements are as large.
using Loop = void (*)(void* out, const void* a, const void* b, const void* c, std::size_t n);

// `operands`: the dtype of the arguments; of kWhere's second and third. Null where there is no such operator.
Loop LoopFor(Operator op, DType operands);
// Values of dtype float16 must be on its grid. Null if the element stays as it is.
Loop CastLoop(DType from, DType to);

void RoundToHalfLoop(void* out, const void* a, const void*, const void*, std::size_t n);   // float32 to its grid
void HalfFromBitsLoop(void* out, const void* a, const void*, const void*, std::size_t n);  // uint16 to float32
void HalfToBitsLoop(void* out, const void* a, const void*, const void*, std::size_t n);    // rounds, too

// LoopFor's parts.
Loop FloatLoop(Operator op, DType operands);     // arithmetic, comparisons and tests of float32 and float64
Loop FunctionLoop(Operator op, DType operands);  // their functions that libmvec has
Loop IntegerLoop(Operator op, DType operands);
Loop ComplexLoop(Operator op, DType operands);
Loop TruthLoop(Operator op);  // of bool

}  // namespace hotplate::expression
