// One element of arange, for both back-ends. Compiled without contraction: a product and a sum are rounded each for
// itself, as NumPy's are.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/call/host_device.h"

namespace hotplate::arange {

// NumPy's own rule: the first two elements are computed in float64 and rounded to T; the others are the first plus a
// multiple of their difference, in T.
template <typename T>
struct Arange {
  T first;
  T second;

  HOTPLATE_HOST_DEVICE T operator()(std::uint64_t index) const {
    if constexpr (std::is_integral_v<T>) {
      // Wraps around on the way, never at the end.
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(first) +
                            static_cast<U>(index) * (static_cast<U>(second) - static_cast<U>(first)));
    } else {
      // Exact in float64: an array has fewer than 2^53 elements.
      const T value = first + static_cast<T>(static_cast<double>(index)) * (second - first);
      return index == 0 ? first : index == 1 ? second : value;
    }
  }
};

// For int32 the second element may be out of range if it does not exist: it wraps around.
template <typename T>
Arange<T> ArangeOf(double start, double step) {
  if constexpr (std::is_integral_v<T>) {
    const auto first = static_cast<std::int64_t>(start);
    return {static_cast<T>(first), static_cast<T>(first + static_cast<std::int64_t>(step))};
  } else {
    return {static_cast<T>(start), static_cast<T>(start + step)};
  }
}

}  // namespace hotplate::arange
