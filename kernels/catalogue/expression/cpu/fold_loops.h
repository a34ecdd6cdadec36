// An Accumulator made of a fold:
//   Element, State
//   Lanes(memory, capacity)             arrays of what a lane keeps; kLaneBytes of them for each
//   Begin(lanes, i, x, row)             lane i takes its first element
//   Add(lanes, i, x, row)               the next one
//   Lift(lanes, i, count, rows) -> State  of lane i, which took `count` elements; their rows are `rows` higher
//   Merge(state, other)                 `other`: of later rows, or of rows between
//   Column(x, rows, stride) -> State    of x[0], x[stride], …
//   None() -> State                     of no elements, where that is defined
//   Done(state, how, out, i)            writes result i
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>

#include "kernels/catalogue/expression/cpu/accumulators.h"
#include "kernels/catalogue/expression/cpu/half.h"
#include "kernels/devices/cpu/multiversion.h"

namespace hotplate::expression {

// `row`: the elements' own one is not needed by most folds, and is then the same for the whole block.
template <typename Fold>
HOTPLATE_INLINE void TakeBody(void* lanes, std::size_t capacity, std::size_t at, const void* x, std::size_t n,
                              std::size_t begun, std::int64_t row) {
  const typename Fold::Element* const element = static_cast<const typename Fold::Element*>(x);
  const typename Fold::Lanes all(lanes, capacity);
#pragma omp simd
  for (std::size_t i = 0; i < begun; ++i) Fold::Add(all, at + i, element[i], row);
#pragma omp simd
  for (std::size_t i = begun; i < n; ++i) Fold::Begin(all, at + i, element[i], row);
}
template <typename Fold>
HOTPLATE_MULTIVERSION static void WideTake(void* lanes, std::size_t capacity, std::size_t at, const void* x,
                                           std::size_t n, std::size_t begun, std::int64_t row) {
  TakeBody<Fold>(lanes, capacity, at, x, n, begun, row);
}
template <typename Fold>
static void PlainTake(void* lanes, std::size_t capacity, std::size_t at, const void* x, std::size_t n,
                      std::size_t begun, std::int64_t row) {
  TakeBody<Fold>(lanes, capacity, at, x, n, begun, row);
}

template <typename Fold>
static void FoldLanes(void* lanes, std::size_t capacity, std::size_t count, std::size_t results,
                      const std::uint32_t* counts, bool first, void* states) {
  using State = typename Fold::State;
  const typename Fold::Lanes all(lanes, capacity);
  State* const state = static_cast<State*>(states);
  for (std::size_t from = 0, row = 0; from < count; from += results, ++row) {
    for (std::size_t i = 0; i < std::min(results, count - from); ++i) {
      const State lane = Fold::Lift(all, from + i, counts[from + i], static_cast<std::int64_t>(row));
      if (first && row == 0) {
        state[i] = lane;
      } else {
        Fold::Merge(state[i], lane);
      }
    }
  }
}

template <typename Fold>
static void WholeResults(const void* x, std::size_t groups, std::size_t rows, std::size_t columns, void* states) {
  const typename Fold::Element* element = static_cast<const typename Fold::Element*>(x);
  typename Fold::State* state = static_cast<typename Fold::State*>(states);
  for (std::size_t group = 0; group < groups; ++group, element += rows * columns) {
    for (std::size_t column = 0; column < columns; ++column) *state++ = Fold::Column(element + column, rows, columns);
  }
}

template <typename Fold>
static void MergeStates(void* states, const void* others, std::size_t n) {
  typename Fold::State* const state = static_cast<typename Fold::State*>(states);
  const typename Fold::State* const other = static_cast<const typename Fold::State*>(others);
  for (std::size_t i = 0; i < n; ++i) Fold::Merge(state[i], other[i]);
}

template <typename Fold>
static void NoElements(void* states, std::size_t n) {
  if constexpr (requires { Fold::None(); }) std::fill_n(static_cast<typename Fold::State*>(states), n, Fold::None());
}

template <typename Fold>
static void FinishStates(const void* states, std::size_t n, const Finish& how, void* out) {
  const typename Fold::State* const state = static_cast<const typename Fold::State*>(states);
  for (std::size_t i = 0; i < n; ++i) Fold::Done(state[i], how, out, i);
}

// `wide`: `take` is compiled for each of the processor's vector widths.
template <typename Fold, bool wide>
inline constexpr Accumulator kAccumulator = {.lane_bytes = Fold::kLaneBytes,
                                             .state_bytes = sizeof(typename Fold::State),
                                             .take = wide ? WideTake<Fold> : PlainTake<Fold>,
                                             .fold = FoldLanes<Fold>,
                                             .whole = WholeResults<Fold>,
                                             .merge = MergeStates<Fold>,
                                             .none = requires {Fold::None();
}  // namespace hotplate::expression
? NoElements<Fold> : nullptr, .finish = FinishStates<Fold>,
}
;

// Writes a real result.
inline void Store(double value, DType dtype, void* out, std::size_t i) {
  switch (dtype) {
    case DType::kFloat16:
      static_cast<std::uint16_t*>(out)[i] = HalfBits(RoundToHalf(value));
      break;
    case DType::kFloat32:
      static_cast<float*>(out)[i] = static_cast<float>(value);
      break;
    default:
      static_cast<double*>(out)[i] = value;
  }
}
inline void Store(std::complex<double> value, DType dtype, void* out, std::size_t i) {
  if (dtype == DType::kComplex64) {
    static_cast<std::complex<float>*>(out)[i] = {static_cast<float>(value.real()), static_cast<float>(value.imag())};
  } else {
    static_cast<std::complex<double>*>(out)[i] = value;
  }
}

}  // namespace hotplate::expression
