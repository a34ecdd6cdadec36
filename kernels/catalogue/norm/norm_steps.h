// The steps of a norm, for both back-ends: one or two reductions by the folds of kernels/families/folds.h. Between two
// steps lie float64 numbers: the sums of a matrix's columns or rows, or each vector's largest magnitude.
#pragma once

#include <string_view>

#include "kernels/call/call.h"
#include "kernels/call/for_type.h"
#include "kernels/families/axis.h"
#include "kernels/families/elementwise_math.h"
#include "kernels/families/folds.h"

namespace hotplate {
struct BoundCall;
}

namespace hotplate::norm {

// From this order on, elements are divided by the largest, so that no power overflows. Lower orders do not overflow in
// float64, but the root of a sum of shares would; and shares too small for a number would still count.
inline constexpr double kScaledFrom = 0.1;

struct Steps {
  Extent first, second;
  bool two = false;
  constexpr std::uint64_t between() const { return two ? first.outputs() : 0; }
};

// As NumPy has it: all is every element without an order, and with one the vector or the matrix that x is.
inline bool IsOfMatrices(std::string_view order, std::string_view axis, int rank) {
  return axis == "matrices" || (axis == "all" && order != "auto" && rank == 2);
}
inline std::string_view OrderOf(std::string_view order, bool of_matrices) {
  return order != "auto" ? order : of_matrices ? "fro" : "2";
}

inline Steps StepsOf(const std::int64_t* shape, int rank, std::string_view order, double p, std::string_view axis) {
  Steps steps;
  if (!IsOfMatrices(order, axis, rank)) {
    steps.first = steps.second = ExtentOf(shape, rank, axis);
    steps.two = order == "p" && p >= kScaledFrom;
    return steps;
  }
  std::uint64_t matrices = 1;
  for (int i = 0; i + 2 < rank; ++i) matrices *= static_cast<std::uint64_t>(shape[i]);
  const std::uint64_t rows = static_cast<std::uint64_t>(shape[rank - 2]);
  const std::uint64_t columns = static_cast<std::uint64_t>(shape[rank - 1]);
  if (OrderOf(order, true) == "fro") {
    steps.first = steps.second = {matrices, rows * columns, 1};
  } else if (order == "1" || order == "-1") {
    steps = {{matrices, rows, columns}, {matrices, columns, 1}, true};
  } else {
    steps = {{matrices * rows, columns, 1}, {matrices, rows, 1}, true};
  }
  return steps;
}

inline Steps StepsOf(const Call& call) {
  const hotplate_array& x = call.InputArray("x");
  return StepsOf(x.shape, x.rank, call.Choice("ord"), call.Float("p"), call.Choice("axis"));
}
Steps StepsOf(const BoundCall& call);

// Scratch of both: the numbers between the steps, then states of this many bytes at most.
inline constexpr std::size_t kStateBytes = sizeof(folds::TwoPart);
constexpr std::uint64_t BetweenBytes(const Steps& steps) {
  return (steps.between() * sizeof(double) + 255) / 256 * 256;
}

struct Magnitude {
  static constexpr bool kAbout = false;
  HOTPLATE_HOST_DEVICE float operator()(float x, double) const { return fabsf(x); }
  HOTPLATE_HOST_DEVICE double operator()(double x, double) const { return fabs(x); }
};
struct Square {
  static constexpr bool kAbout = false;
  HOTPLATE_HOST_DEVICE double operator()(double x, double) const { return x * x; }
};
// A NaN counts as non-zero.
struct NonZero {
  static constexpr bool kAbout = false;
  HOTPLATE_HOST_DEVICE double operator()(double x, double) const { return x != 0 ? 1 : 0; }
};
struct Power {
  static constexpr bool kAbout = false;
  double p;
  HOTPLATE_HOST_DEVICE double operator()(double x, double) const { return math::Pow(fabs(x), p); }
};
// The power of an element's share of the largest magnitude.
struct PowerOfShare {
  static constexpr bool kAbout = true;
  double p;
  HOTPLATE_HOST_DEVICE double operator()(double x, double about) const { return math::Pow(fabs(x) / about, p); }
};
// The same for a whole power, by multiplication.
struct WholePowerOfShare {
  static constexpr bool kAbout = true;
  static constexpr double kMost = 15;
  unsigned p;
  HOTPLATE_HOST_DEVICE double operator()(double x, double about) const {
    const double share = fabs(x) / about, second = share * share, fourth = second * second;
    const double below_four = ((p & 1) != 0 ? share : 1.0) * ((p & 2) != 0 ? second : 1.0);
    return below_four * ((p & 4) != 0 ? fourth : 1.0) * ((p & 8) != 0 ? fourth * fourth : 1.0);
  }
};

// The sum of squares of float64 without overflow: large numbers are scaled down and summed apart from the others, which
// are scaled up.
struct ScaledSquares {
  using Element = double;
  using First = double;   // of the large
  using Second = double;  // of the others
  using State = folds::TwoPart;
  static constexpr bool kAbout = false;
  static constexpr double kLarge = 0x1p60, kDown = 0x1p-540, kUp = 0x1p420;

  HOTPLATE_HOST_DEVICE void Begin(double& a, double& b, double x, double about) const {
    a = b = 0;
    Add(a, b, x, 0, about);
  }
  HOTPLATE_HOST_DEVICE void Add(double& a, double& b, double x, std::int64_t, double) const {
    const bool large = fabs(x) >= kLarge;
    const double down = large ? x * kDown : 0.0, up = large ? 0.0 : x * kUp;
    a += down * down;
    b += up * up;
  }
  HOTPLATE_HOST_DEVICE State Lift(double a, double b, std::uint64_t, std::uint64_t) const { return {a, b}; }
  HOTPLATE_HOST_DEVICE void Merge(State& state, const State& other) const {
    state.high += other.high;
    state.low += other.low;
  }
  HOTPLATE_HOST_DEVICE static double Root(const State& state) {
    constexpr double kStep = 0x1p-960;  // twice: the square of the ratio of the two scales
    if (state.high == 0) return sqrt(state.low) / kUp;
    return sqrt(state.high + state.low * kStep * kStep) / kDown;
  }
};

// The result of a state.
template <typename T>
struct Total {
  using Out = T;
  HOTPLATE_HOST_DEVICE T operator()(const folds::One<double>& state, std::uint64_t) const {
    return static_cast<T>(state.value);
  }
  HOTPLATE_HOST_DEVICE T operator()(const folds::TwoPart& state, std::uint64_t) const {
    return static_cast<T>(state.value());
  }
};
template <typename T>
struct Root {
  using Out = T;
  HOTPLATE_HOST_DEVICE T operator()(const folds::One<double>& state, std::uint64_t) const {
    return static_cast<T>(sqrt(state.value));
  }
  HOTPLATE_HOST_DEVICE T operator()(const folds::TwoPart& state, std::uint64_t) const {
    return static_cast<T>(ScaledSquares::Root(state));
  }
};
template <typename T, typename V>
struct FlippedBack {
  using Out = T;
  folds::Flip<V> flip;
  HOTPLATE_HOST_DEVICE T operator()(const folds::One<V>& state, std::uint64_t) const {
    return static_cast<T>(flip(state.value));
  }
};
template <typename T>
struct RootOfPowers {
  using Out = T;
  double p;
  HOTPLATE_HOST_DEVICE T operator()(const folds::One<double>& state, std::uint64_t) const {
    return static_cast<T>(pow(state.value, 1 / p));
  }
};
// `largest`: of each output. It is the result itself if nothing can be divided by it.
template <typename T>
struct RootOfShares {
  using Out = T;
  double p;
  const double* largest;
  HOTPLATE_HOST_DEVICE T operator()(const folds::One<double>& state, std::uint64_t output) const {
    const double scale = largest[output];
    return static_cast<T>(scale > 0 && scale - scale == 0 ? scale * pow(state.value, 1 / p) : scale);
  }
};

// Calls reduce(fold, finish, x, extent, about, out), which gives an Outcome, for each step. `between`: scratch.
template <typename T, typename Reduction>
Outcome RunSteps(const Call& call, const Steps& steps, double* between, const Reduction& reduce) {
  using F = FloatFor<T>;
  using SumOfMagnitudes =
      std::conditional_t<std::is_same_v<T, float>, folds::Sum<T, double, Magnitude>, folds::TwoPartSum<T, Magnitude>>;
  using SumOfSquares = std::conditional_t<std::is_same_v<T, double>, ScaledSquares, folds::Sum<T, double, Square>>;
  const bool of_matrices = IsOfMatrices(call.Choice("ord"), call.Choice("axis"), call.InputArray("x").rank);
  const std::string_view order = OrderOf(call.Choice("ord"), of_matrices);
  const T* const x = call.Input<T>("x").data();
  F* const y = call.Output<F>("y").data();

  if (order == "2" || order == "fro") return reduce(SumOfSquares(), Root<F>(), x, steps.first, nullptr, y);
  const double p = call.Float("p");
  if (order == "p" && !steps.two) {
    return reduce(folds::Sum<T, double, Power>{Power{p}}, RootOfPowers<F>{p}, x, steps.first, nullptr, y);
  }
  if (order == "p") {
    const folds::Flip<F> flip(true);
    const Outcome first = reduce(folds::Extreme<T, F, Magnitude>{.flip = flip}, FlippedBack<double, F>{flip}, x,
                                 steps.first, nullptr, between);
    if (!first.ok()) return first;
    if (const auto whole = static_cast<unsigned>(p < WholePowerOfShare::kMost ? p : WholePowerOfShare::kMost);
        whole == p) {
      return reduce(folds::Sum<T, double, WholePowerOfShare>{WholePowerOfShare{whole}}, RootOfShares<F>{p, between}, x,
                    steps.second, between, y);
    }
    return reduce(folds::Sum<T, double, PowerOfShare>{PowerOfShare{p}}, RootOfShares<F>{p, between}, x, steps.second,
                  between, y);
  }
  if (steps.two) {
    const Outcome first = reduce(SumOfMagnitudes(), Total<double>(), x, steps.first, nullptr, between);
    if (!first.ok()) return first;
    const folds::Flip<double> flip(order == "1" || order == "inf");
    return reduce(folds::Extreme<double>{.flip = flip}, FlippedBack<F, double>{flip},
                  static_cast<const double*>(between), steps.second, nullptr, y);
  }
  if (order == "0") return reduce(folds::Sum<T, double, NonZero>(), Total<F>(), x, steps.first, nullptr, y);
  if (order == "1") return reduce(SumOfMagnitudes(), Total<F>(), x, steps.first, nullptr, y);
  const folds::Flip<F> flip(order == "inf");
  return reduce(folds::Extreme<T, F, Magnitude>{.flip = flip}, FlippedBack<F, F>{flip}, x, steps.first, nullptr, y);
}

template <typename Reduction>
Outcome RunSteps(const Call& call, const Steps& steps, double* between, const Reduction& reduce) {
  return ForType<float, double, std::int32_t, std::int64_t>(
      "norm", call.InputType("x"), [&]<typename T>() { return RunSteps<T>(call, steps, between, reduce); });
}

}  // namespace hotplate::norm
