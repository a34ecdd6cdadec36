// Reductions as functions over blocks of elements. A block's elements lie beside each other in lanes: each lane belongs
// to one result, and a result has one or many lanes. From time to time the lanes are folded into states, one to a
// result; states of different parts are merged in the order of the parts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/array/dtype.h"
#include "kernels/expression/program.h"

namespace hotplate::expression {

// A lane takes at most so many elements before it is folded. The rounding error of a sum grows with this number.
inline constexpr std::size_t kDepth = 512;

struct Finish {
  Reduction reduction = Reduction::kSum;
  DType dtype = DType::kFloat64;  // of the results
  double count = 0;               // elements of each result
  double ddof = 0;
};

struct Accumulator {
  std::size_t lane_bytes = 0, state_bytes = 0;

  // Lanes [at, at + n) take the elements x[0, n) of row `row` and those after it; the first `begun` have taken some
  // before. `capacity`: lanes that there is memory for.
  void (*take)(void* lanes, std::size_t capacity, std::size_t at, const void* x, std::size_t n, std::size_t begun,
               std::int64_t row);
  // Lane i belongs to result i % results, and its elements' rows are those that `take` was told plus i / results.
  // counts[i]: the elements that lane i has taken. `first`: the states are made, not added to.
  void (*fold)(void* lanes, std::size_t capacity, std::size_t count, std::size_t results, const std::uint32_t* counts,
               bool first, void* states);
  // The states of whole results: x[(group * rows + row) * columns + column].
  void (*whole)(const void* x, std::size_t groups, std::size_t rows, std::size_t columns, void* states);
  void (*merge)(void* states, const void* others, std::size_t n);  // `others`: of later rows
  void (*none)(void* states, std::size_t n);                       // of no elements; null: that is an error
  void (*finish)(const void* states, std::size_t n, const Finish& how, void* out);
};

// `dtype`: of the elements; float16 as float32. Null if there is none.
const Accumulator* AccumulatorFor(Reduction reduction, DType dtype);

// AccumulatorFor's parts.
const Accumulator* SumAccumulator(Reduction reduction, DType dtype);      // kSum, kProd, kMean
const Accumulator* ExtremeAccumulator(Reduction reduction, DType dtype);  // kMin, kMax, kArgMin, kArgMax, kAny, kAll
const Accumulator* SpreadAccumulator(DType dtype);                        // kVar, kStd

}  // namespace hotplate::expression
