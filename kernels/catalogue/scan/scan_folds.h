// The operations and their states, and where an array's blocks and results lie. For both back-ends.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "kernels/call/for_type.h"
#include "kernels/call/host_device.h"
#include "kernels/families/axis.h"

namespace hotplate {
namespace scan {

template <typename F>
struct Complex {
  F re, im;
};

}  // namespace scan

template <>
constexpr DType DTypeOf<scan::Complex<float>>() {
  return DType::kComplex64;
}
template <>
constexpr DType DTypeOf<scan::Complex<double>>() {
  return DType::kComplex128;
}

namespace scan {

// The type in which elements of type T are folded: 64 bits that wrap around, float64, or two of them.
template <typename T>
struct Folded {
  using State = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  HOTPLATE_HOST_DEVICE static State Of(T x) { return static_cast<State>(x); }
  HOTPLATE_HOST_DEVICE static T Back(State state) { return static_cast<T>(state); }
};
template <typename F>
struct Folded<Complex<F>> {
  using State = Complex<double>;
  HOTPLATE_HOST_DEVICE static State Of(Complex<F> x) { return {static_cast<double>(x.re), static_cast<double>(x.im)}; }
  HOTPLATE_HOST_DEVICE static Complex<F> Back(State state) {
    return {static_cast<F>(state.re), static_cast<F>(state.im)};
  }
};

template <typename State>
struct Sum {
  HOTPLATE_HOST_DEVICE static State Nothing() { return State{}; }
  HOTPLATE_HOST_DEVICE State operator()(State a, State b) const {
    if constexpr (std::is_arithmetic_v<State>) {
      return a + b;
    } else {
      return {a.re + b.re, a.im + b.im};
    }
  }
  // Whether the fold of some elements can stand for them: else they have left the range of float64 on the way to it.
  static bool Stands(double total) { return std::isfinite(total); }
  static bool Stands(Complex<double> total) { return std::isfinite(total.re) && std::isfinite(total.im); }
  static bool Stands(std::uint64_t) { return true; }
};

template <typename State>
struct Product {
  HOTPLATE_HOST_DEVICE static State Nothing() {
    if constexpr (std::is_arithmetic_v<State>) {
      return 1;
    } else {
      return {1, 0};
    }
  }
  HOTPLATE_HOST_DEVICE State operator()(State a, State b) const {
    if constexpr (std::is_arithmetic_v<State>) {
      return a * b;
    } else {
      if (a.re == 1 && a.im == 0) return b;  // by the rule below, 1 times an infinity has a part that is NaN
      return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
  }
  static bool Stands(double total) { return std::isfinite(total) && total != 0; }
  static bool Stands(Complex<double> total) {
    return std::isfinite(total.re) && std::isfinite(total.im) && (total.re != 0 || total.im != 0);
  }
  static bool Stands(std::uint64_t) { return true; }
};

// The lines along the axis, cut into blocks of equal length. The total of each block, [outer, blocks, inner] of them if
// there are several, becomes that of the blocks before it.
struct Blocks {
  Extent extent;
  std::uint64_t length = 0, count = 1;  // `length` elements of a line each, but the last; at least one block
  bool initial = false;

  HOTPLATE_HOST_DEVICE std::uint64_t InputAt(std::uint64_t outer, std::uint64_t i, std::uint64_t inner) const {
    return (outer * extent.count + i) * extent.inner + inner;
  }
  HOTPLATE_HOST_DEVICE std::uint64_t OutputAt(std::uint64_t outer, std::uint64_t i, std::uint64_t inner) const {
    const std::uint64_t more = initial ? 1 : 0;
    return (outer * (extent.count + more) + more + i) * extent.inner + inner;
  }
  HOTPLATE_HOST_DEVICE std::uint64_t TotalAt(std::uint64_t outer, std::uint64_t block, std::uint64_t inner) const {
    return (outer * count + block) * extent.inner + inner;
  }
  HOTPLATE_HOST_DEVICE std::uint64_t End(std::uint64_t block) const {
    return block + 1 == count ? extent.count : (block + 1) * length;
  }
  std::uint64_t totals() const { return count == 1 ? 0 : extent.outputs() * count; }
};

inline Blocks CutInto(const Extent& extent, std::uint64_t length, bool initial) {
  Blocks blocks;
  blocks.extent = extent;
  blocks.length = length;
  if (extent.count > length) blocks.count = extent.count / length + (extent.count % length != 0);
  blocks.initial = initial;
  return blocks;
}

// Calls body.operator()<T, Fold>() for the call's dtype and operation.
template <typename Body>
Outcome WithFold(const Call& call, const Body& body) {
  return ForType<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double, Complex<float>,
                 Complex<double>>("scan", call.InputType("x"), [&]<typename T>() {
    using State = typename Folded<T>::State;
    return call.Choice("operation") == "prod" ? body.template operator()<T, Product<State>>()
                                              : body.template operator()<T, Sum<State>>();
  });
}

inline std::uint64_t StateBytes(DType dtype) { return IsComplex(dtype) ? sizeof(Complex<double>) : sizeof(double); }

}  // namespace scan
}  // namespace hotplate
