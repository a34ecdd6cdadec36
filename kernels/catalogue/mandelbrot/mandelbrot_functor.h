// One point of the Mandelbrot grid and one step of its orbit, for both back-ends.
#pragma once

#include <cstdint>

#include "kernels/call/host_device.h"

namespace hotplate::mandelbrot {

// Coordinate `index` of `resolution` between `low` and `high`, ends included (as numpy.linspace).
HOTPLATE_HOST_DEVICE inline double Coordinate(std::int64_t index, std::int64_t resolution, double low, double high) {
  if (resolution < 2) return low;
  if (index == resolution - 1) return high;
  return low + static_cast<double>(index) * ((high - low) / static_cast<double>(resolution - 1));
}

// Scalar form: how often z <- z^2 + c is done, from z = c, while |z| < 2, at most max_iterations times.
HOTPLATE_HOST_DEVICE inline std::int32_t Count(double c_real, double c_imaginary, std::int32_t max_iterations) {
  double x = c_real, y = c_imaginary;
  std::int32_t count = 0;
  while (count < max_iterations && x * x + y * y < 4) {
    const double next = x * x - y * y + c_real;
    y = 2 * x * y + c_imaginary;
    x = next;
    ++count;
  }
  return count;
}

}  // namespace hotplate::mandelbrot
