// One element from one dtype to another, as NumPy does it on x86.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/catalogue/expression/cpu/loops.h"

namespace hotplate::expression {

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

// x86 gives the lowest integer for a number that is out of range, or NaN. Bringing it into range first leaves a plain
// conversion, which GCC vectorises.
template <typename I, typename F>
I InRangeOrLowest(F x) {
  constexpr F kLowest = static_cast<F>(std::numeric_limits<I>::min());
  return static_cast<I>(x >= kLowest && x < -kLowest ? x : kLowest);
}

// The narrow ones are cut from int32; uint32 and uint64 have a half below and one above the largest signed number.
template <typename I, typename F>
I FloatToInteger(F x) {
  if constexpr (std::is_unsigned_v<I> && sizeof(I) >= 4) {
    using Signed = std::make_signed_t<I>;
    constexpr F kHalf = -static_cast<F>(std::numeric_limits<Signed>::min());
    const bool high = x >= kHalf;
    const I low = static_cast<I>(InRangeOrLowest<Signed>(high ? x - kHalf : x));
    return high ? low ^ static_cast<I>(std::numeric_limits<Signed>::min()) : low;
  } else if constexpr (sizeof(I) == 8) {
    return InRangeOrLowest<I>(x);
  } else {
    return static_cast<I>(InRangeOrLowest<std::int32_t>(x));
  }
}

template <typename To, typename From>
To Convert(From x) {
  if constexpr (kIsComplex<To>) {
    using Part = typename To::value_type;
    if constexpr (kIsComplex<From>) {
      return To(static_cast<Part>(x.real()), static_cast<Part>(x.imag()));
    } else {
      return To(Convert<Part>(x), Part(0));
    }
  } else if constexpr (std::is_same_v<From, Truth>) {
    if constexpr (std::is_same_v<To, Truth>) {
      return x;
    } else {
      return static_cast<To>(x != Truth::kFalse ? 1 : 0);
    }
  } else if constexpr (std::is_same_v<To, Truth>) {
    return static_cast<Truth>(x != From(0));
  } else if constexpr (kIsComplex<From>) {
    return Convert<To>(x.real());
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return FloatToInteger<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace hotplate::expression
