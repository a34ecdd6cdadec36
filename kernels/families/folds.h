// The operations of a reduction, for both back-ends. A fold has
//   Element                           the type that it reads
//   First, Second                     its accumulators; the back-ends keep arrays of each
//   State                             the accumulators of a part of the elements, ready to be merged
//   kAbout                            whether it needs a number for each output, `about`
//   Begin(a, b, x, about)             takes the first element
//   Add(a, b, x, row, about)          takes the next one: `row` is its number, counted from Begin's 0, a RowOf<Element>
//   Lift(a, b, first, step) -> State  row r was element first + r * step of the reduced elements
//   Merge(state, other)               `other`: of elements after those of `state`, or between them
// The back-ends are deterministic: the order of merging depends only on sizes (on a GPU, also on the device).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/call/host_device.h"

namespace hotplate::folds {

// A Second of folds that have one accumulator only.
struct Nothing {};

// A State of one number.
template <typename A>
struct One {
  A value;
};

// An integer type as wide as T, for row numbers beside elements.
template <typename T>
using RowOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// The term of the fold for each element.
struct Itself {
  static constexpr bool kAbout = false;
  template <typename T>
  HOTPLATE_HOST_DEVICE T operator()(T x, double) const {
    return x;
  }
};
struct SquareAbout {
  static constexpr bool kAbout = true;
  HOTPLATE_HOST_DEVICE double operator()(double x, double about) const { return (x - about) * (x - about); }
};

// The sum in A: of float32 in float64, or of integers modulo 2^64.
template <typename E, typename A, typename Of = Itself>
struct Sum {
  using Element = E;
  using First = A;
  using Second = Nothing;
  using State = One<A>;
  static constexpr bool kAbout = Of::kAbout;
  Of of = {};

  HOTPLATE_HOST_DEVICE void Begin(A& a, Nothing&, E x, double about) const { a = of(static_cast<A>(x), about); }
  HOTPLATE_HOST_DEVICE void Add(A& a, Nothing&, E x, RowOf<E>, double about) const {
    a += of(static_cast<A>(x), about);
  }
  HOTPLATE_HOST_DEVICE State Lift(A a, Nothing, std::uint64_t, std::uint64_t) const { return {a}; }
  HOTPLATE_HOST_DEVICE void Merge(State& state, const State& other) const { state.value += other.value; }
};

// A float64 and its rounding error: together within some 2^-100 of the summed magnitudes of the exact sum.
struct TwoPart {
  double high, low;
  // If `high` is infinite or NaN, `low` is NaN.
  HOTPLATE_HOST_DEVICE double value() const {
    const double sum = high + low;
    return sum == sum ? sum : high;
  }
};
// Knuth's: right whichever is larger.
HOTPLATE_HOST_DEVICE inline void AddTo(double& high, double& low, double x) {
  const double sum = high + x, part = sum - high;
  low += (high - (sum - part)) + (x - part);
  high = sum;
}

// The sum in twice float64's precision.
template <typename E, typename Of = Itself>
struct TwoPartSum {
  using Element = E;
  using First = double;
  using Second = double;
  using State = TwoPart;
  static constexpr bool kAbout = Of::kAbout;
  Of of = {};

  HOTPLATE_HOST_DEVICE void Begin(double& a, double& b, E x, double about) const {
    a = of(static_cast<double>(x), about), b = 0;
  }
  HOTPLATE_HOST_DEVICE void Add(double& a, double& b, E x, RowOf<E>, double about) const {
    AddTo(a, b, of(static_cast<double>(x), about));
  }
  HOTPLATE_HOST_DEVICE State Lift(double a, double b, std::uint64_t, std::uint64_t) const { return {a, b}; }
  HOTPLATE_HOST_DEVICE void Merge(State& state, const State& other) const {
    AddTo(state.high, state.low, other.high);
    state.low += other.low;
  }
};

// The product in A: of floats in float64, or of integers modulo 2^64.
template <typename E, typename A>
struct Product {
  using Element = E;
  using First = A;
  using Second = Nothing;
  using State = One<A>;
  static constexpr bool kAbout = false;

  HOTPLATE_HOST_DEVICE void Begin(A& a, Nothing&, E x, double) const { a = static_cast<A>(x); }
  HOTPLATE_HOST_DEVICE void Add(A& a, Nothing&, E x, RowOf<E>, double) const { a *= static_cast<A>(x); }
  HOTPLATE_HOST_DEVICE State Lift(A a, Nothing, std::uint64_t, std::uint64_t) const { return {a}; }
  HOTPLATE_HOST_DEVICE void Merge(State& state, const State& other) const { state.value *= other.value; }
};

// Makes the largest the smallest, and undoes that: a float's sign, or every bit of an integer.
template <typename T>
struct Flip {
  T by;  // floats: 1 or -1; integers: 0 or -1

  explicit constexpr Flip(bool largest) : by(largest ? T(-1) : T(std::is_floating_point_v<T> ? 1 : 0)) {}
  HOTPLATE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return x * by;
    } else {
      return x ^ by;
    }
  }
};

// The smaller of both, and NaN before any number. In this form GCC vectorises a chain of them.
template <typename T>
HOTPLATE_HOST_DEVICE inline T Smaller(T x, T a) {
  const T number = x < a ? x : a;
  return x == x ? number : x;
}

// The smallest, or the largest, or NaN if there is one, in V; flipped (as `flip` does it).
template <typename E, typename V = E, typename Of = Itself>
struct Extreme {
  using Element = E;
  using First = V;
  using Second = Nothing;
  using State = One<V>;
  static constexpr bool kAbout = Of::kAbout;
  Flip<V> flip;
  Of of = {};

  HOTPLATE_HOST_DEVICE void Begin(V& a, Nothing&, E x, double about) const { a = flip(of(static_cast<V>(x), about)); }
  HOTPLATE_HOST_DEVICE void Add(V& a, Nothing&, E x, RowOf<E>, double about) const {
    a = Smaller(flip(of(static_cast<V>(x), about)), a);
  }
  HOTPLATE_HOST_DEVICE State Lift(V a, Nothing, std::uint64_t, std::uint64_t) const { return {a}; }
  HOTPLATE_HOST_DEVICE void Merge(State& state, const State& other) const {
    state.value = Smaller(other.value, state.value);
  }
};

// An integer for each number in their order, equal ones for zeros of both signs; the smallest there is for NaN.
template <typename E>
HOTPLATE_HOST_DEVICE inline RowOf<E> Rank(E x) {
  if constexpr (std::is_floating_point_v<E>) {
    using Bits = RowOf<E>;
    constexpr int kSign = 8 * sizeof(Bits) - 1;
    constexpr Bits kNaN = static_cast<Bits>(Bits(1) << kSign), kAllButSign = ~kNaN;
    const E one_zero = x + E(0);
    Bits bits;
    memcpy(&bits, &one_zero, sizeof bits);
    bits ^= (bits >> kSign) & kAllButSign;
    return x == x ? bits : kNaN;
  } else {
    return x;
  }
}

template <typename E>
struct Place {
  RowOf<E> rank;
  std::int64_t index;
};

// Where the smallest or the largest is for the first time, or the first NaN.
template <typename E>
struct WhereExtreme {
  using Element = E;
  using First = RowOf<E>;
  using Second = RowOf<E>;
  using State = Place<E>;
  static constexpr bool kAbout = false;
  Flip<E> flip;

  HOTPLATE_HOST_DEVICE void Begin(First& a, Second& b, E x, double) const { a = Rank(flip(x)), b = 0; }
  HOTPLATE_HOST_DEVICE void Add(First& a, Second& b, E x, Second row, double) const {
    const First rank = Rank(flip(x)), before = a;
    const Second where = b;
    a = rank < before ? rank : before;
    b = rank < before ? row : where;
  }
  HOTPLATE_HOST_DEVICE State Lift(First a, Second b, std::uint64_t first, std::uint64_t step) const {
    return {a, static_cast<std::int64_t>(first + static_cast<std::uint64_t>(b) * step)};
  }
  // Elements of both may lie between each other: of equals, the place decides.
  HOTPLATE_HOST_DEVICE void Merge(State& state, const State& other) const {
    if (other.rank < state.rank || (other.rank == state.rank && other.index < state.index)) state = other;
  }
};

}  // namespace hotplate::folds
