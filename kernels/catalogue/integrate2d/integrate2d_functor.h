// Shared by both back-ends of integrate2d: the sample points and the exact value.
//
// The sine is evaluated for every (x, y) in float32, and summed in float64. So that this stays accurate for any
// limits, each coordinate is reduced to [-pi, pi] in float64 (once a row or column) before it is rounded to float32.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/call/host_device.h"

namespace hotplate::integrate2d {

inline constexpr double kTwoPi = 6.283185307179586476925286766559;

// The midpoint of cell `index` of `n` between `low` and `high`, reduced to [-pi, pi].
HOTPLATE_HOST_DEVICE inline float ReducedMidpoint(std::int64_t index, std::int64_t n, double low, double high) {
  const double x = low + (static_cast<double>(index) + 0.5) * ((high - low) / static_cast<double>(n));
  return static_cast<float>(x - kTwoPi * rint(x / kTwoPi));
}

// The area of one cell, by which the sum of the sines is multiplied.
HOTPLATE_HOST_DEVICE inline double CellArea(std::int64_t n, double x_min, double x_max, double y_min, double y_max) {
  return ((x_max - x_min) / static_cast<double>(n)) * ((y_max - y_min) / static_cast<double>(n));
}

// The integral itself, as a product: no cancellation for small rectangles.
HOTPLATE_HOST_DEVICE inline double ExactIntegral(double x_min, double x_max, double y_min, double y_max) {
  return 4 * sin((x_max - x_min) / 2) * sin((y_max - y_min) / 2) * sin((x_min + x_max) / 2 + (y_min + y_max) / 2);
}

}  // namespace hotplate::integrate2d
