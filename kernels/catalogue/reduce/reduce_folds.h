// The fold of each operation, and the result of its state. For both back-ends.
#pragma once

#include <limits>
#include <string_view>

#include "kernels/array/dtype.h"
#include "kernels/call/for_type.h"
#include "kernels/families/folds.h"

namespace hotplate::reduce {

// A sum's result: itself, or divided, and then the root of it.
template <typename T>
struct Quotient {
  using Out = T;
  // Omit none before one that you set: nvcc 12.0 loses initializer members that follow a gap.
  bool divide = false;
  double divisor = 1;
  bool root = false;

  HOTPLATE_HOST_DEVICE static double Value(const folds::One<double>& state) { return state.value; }
  HOTPLATE_HOST_DEVICE static double Value(const folds::TwoPart& state) { return state.value(); }
  template <typename State>
  HOTPLATE_HOST_DEVICE T operator()(const State& state, std::uint64_t) const {
    const double value = divide ? Value(state) / divisor : Value(state);
    return static_cast<T>(root ? sqrt(value) : value);
  }
};

struct Wrapped {
  using Out = std::int64_t;
  HOTPLATE_HOST_DEVICE Out operator()(const folds::One<std::uint64_t>& state, std::uint64_t) const {
    return static_cast<Out>(state.value);
  }
};

template <typename T>
struct FlippedBack {
  using Out = T;
  folds::Flip<T> flip;
  HOTPLATE_HOST_DEVICE T operator()(const folds::One<T>& state, std::uint64_t) const { return flip(state.value); }
};

template <typename T>
struct Index {
  using Out = std::int64_t;
  HOTPLATE_HOST_DEVICE Out operator()(const folds::Place<T>& state, std::uint64_t) const { return state.index; }
};

template <typename T>
using SumInFloat = std::conditional_t<std::is_same_v<T, float>, folds::Sum<T, double>, folds::TwoPartSum<T>>;
template <typename T>
using Squares = std::conditional_t<std::is_same_v<T, float>, folds::Sum<T, double, folds::SquareAbout>,
                                   folds::TwoPartSum<T, folds::SquareAbout>>;
template <typename T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

// Calls body(fold, finish): finish makes the result of a state. Of std, the second of its two steps: `count` elements
// about their mean.
template <typename T, typename Body>
auto WithFold(std::string_view operation, double count, std::int64_t ddof, const Body& body) {
  using F = FloatFor<T>;
  using Exact = std::conditional_t<std::is_floating_point_v<T>, Quotient<F>, Wrapped>;
  if (operation == "sum") {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, SumInFloat<T>, folds::Sum<T, std::uint64_t>>;
    return body(Sum(), Exact());
  }
  if (operation == "prod") return body(folds::Product<T, Accumulator<T>>(), Exact());
  if (operation == "mean") return body(SumInFloat<T>(), Quotient<F>{.divide = true, .divisor = count});
  if (operation == "std") {
    const double divisor = count - static_cast<double>(ddof);
    return body(Squares<T>(), Quotient<F>{.divide = true, .divisor = divisor > 0 ? divisor : 0, .root = true});
  }
  const folds::Flip<T> flip(operation == "max" || operation == "argmax");
  if (operation == "min" || operation == "max") return body(folds::Extreme<T>{.flip = flip}, FlippedBack<T>{flip});
  return body(folds::WhereExtreme<T>{.flip = flip}, Index<T>());
}

// Bytes of a state of the operation's fold.
inline std::size_t StateBytes(DType dtype, std::string_view operation) {
  const auto bytes = TypeFor<float, double, std::int32_t, std::int64_t>(dtype, [&]<typename T>() {
    return WithFold<T>(operation, 0, 0, [](const auto& fold, const auto&) {
      return sizeof(typename std::decay_t<decltype(fold)>::State);
    });
  });
  return bytes.value_or(0);
}

// The result of no elements.
template <typename Out>
Out OfNothing(std::string_view operation) {
  if constexpr (std::is_floating_point_v<Out>) {
    if (operation == "mean" || operation == "std") return std::numeric_limits<Out>::quiet_NaN();
  }
  return operation == "prod" ? Out(1) : Out(0);
}

}  // namespace hotplate::reduce
