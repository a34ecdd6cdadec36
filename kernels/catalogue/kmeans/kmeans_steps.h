// Shared by both back-ends: how points are cut into pieces with sums of their own, and when the iteration ends.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/call/call.h"
#include "kernels/call/host_device.h"

namespace hotplate::kmeans {

inline constexpr const char* kPointsNotFinite = "points holds a NaN or an infinity";
inline constexpr const char* kInitialNotFinite = "initial holds a NaN or an infinity";

struct Sizes {
  std::uint64_t n = 0, d = 0, k = 0;

  explicit Sizes(const std::int64_t* points, const std::int64_t* initial)
      : n(static_cast<std::uint64_t>(points[0])),
        d(static_cast<std::uint64_t>(points[1])),
        k(static_cast<std::uint64_t>(initial[0])) {}
  explicit Sizes(const Call& call) : Sizes(call.InputArray("points").shape, call.InputArray("initial").shape) {}

  std::uint64_t cells() const { return k * d; }
  // Points are summed in up to `most` pieces, which depends on sizes only; sums take no more than half of the points.
  std::uint64_t Pieces(std::uint64_t most, std::uint64_t least_points) const {
    return std::clamp<std::uint64_t>(n / std::max(4 * k, least_points), 1, most);
  }
};

// The moments of one coordinate of some points, relative to the first point.
struct Moments {
  double sum = 0, squares = 0;

  HOTPLATE_HOST_DEVICE void Add(double x) { sum += x, squares += x * x; }
  HOTPLATE_HOST_DEVICE void Add(const Moments& other) { sum += other.sum, squares += other.squares; }
  HOTPLATE_HOST_DEVICE double Variance(double n) const {
    const double variance = (squares - sum * sum / n) / n;
    return variance > 0 ? variance : 0;
  }
};

template <typename T>
HOTPLATE_HOST_DEVICE bool IsFiniteNumber(T x) {
  return x - x == 0;
}

}  // namespace hotplate::kmeans
