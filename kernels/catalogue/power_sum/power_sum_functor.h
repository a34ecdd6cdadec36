// One element of power_sum, for both back-ends.
#pragma once

#include <type_traits>

#include "kernels/call/host_device.h"

namespace hotplate::power_sum {

// Integers wrap around, as NumPy's do.
template <typename T>
struct PowerSum {
  HOTPLATE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      const Unsigned u = static_cast<Unsigned>(x);
      return static_cast<T>(u + u * u + u * u * u);
    } else {
      const T square = x * x;
      return x + square + square * x;
    }
  }
};

}  // namespace hotplate::power_sum
