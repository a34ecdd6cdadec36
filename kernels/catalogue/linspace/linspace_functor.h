// One element of linspace, for both back-ends. Compiled without contraction: a product and a sum are rounded each for
// itself, as NumPy's are.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/call/host_device.h"

namespace hotplate::linspace {

// NumPy's own rule: everything in float64, and the result rounded to T, down where T is an integer.
template <typename T>
struct Linspace {
  double start, stop;
  double divisor, distance;
  double step;         // 0 if it is too small for a float64, or the distance is 0
  std::uint64_t last;  // the index whose element is `stop`; beyond the array if there is none

  HOTPLATE_HOST_DEVICE T operator()(std::uint64_t index) const {
    const double place = static_cast<double>(index);
    return Rounded(index == last ? stop : step == 0 ? Divided(place) : Stepped(place));
  }

  HOTPLATE_HOST_DEVICE double Stepped(double place) const { return place * step + start; }
  HOTPLATE_HOST_DEVICE double Divided(double place) const { return place / divisor * distance + start; }
  HOTPLATE_HOST_DEVICE static T Rounded(double value) {
    if constexpr (std::is_integral_v<T>) value = floor(value);
    return static_cast<T>(value);
  }
};

template <typename T>
HOTPLATE_HOST_DEVICE Linspace<T> LinspaceOf(double start, double stop, std::int64_t count, bool endpoint) {
  Linspace<T> all{start, stop, 1, stop - start, stop - start, UINT64_MAX};
  if (endpoint && count < 2) return all;  // the only element is start plus nothing of the distance
  all.divisor = static_cast<double>(endpoint ? count - 1 : count);
  all.step = all.distance / all.divisor;
  if (endpoint) all.last = static_cast<std::uint64_t>(count - 1);
  return all;
}

}  // namespace hotplate::linspace
