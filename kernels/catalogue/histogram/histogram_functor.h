// Edges and bins, for both back-ends. Compiled without contraction like linspace, whose edges these are.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "kernels/call/host_device.h"
#include "kernels/catalogue/linspace/linspace_functor.h"

namespace hotplate::histogram {

inline constexpr std::string_view kNotFinite =
    "x holds a NaN or an infinity, so the range of the bins cannot come from the data: give it (--range given --low "
    "LOW --high HIGH)";
inline constexpr std::string_view kTooWide =
    "the range of x, its largest minus its smallest element, exceeds float64: give the range of the bins (--range "
    "given "
    "--low LOW --high HIGH)";

// The extremes of the elements so far.
struct Extremes {
  double least = HUGE_VAL, greatest = -HUGE_VAL;
  std::uint64_t finite = 1;

  HOTPLATE_HOST_DEVICE void Add(const Extremes& other) {
    if (other.least < least) least = other.least;
    if (other.greatest > greatest) greatest = other.greatest;
    finite &= other.finite;
  }
  HOTPLATE_HOST_DEVICE void Add(double value) {
    if (value < least) least = value;
    if (value > greatest) greatest = value;
    if (!(value - value == 0)) finite = 0;
  }
};

enum Status : std::uint64_t { kGood = 0, kHasNotFinite = 1, kIsTooWide = 2 };

// Where the bins are. F: float or double, the edges' type.
template <typename F>
struct Bins {
  linspace::Linspace<F> edges;
  double low, per_unit;
  std::int64_t count;
  F least, greatest;  // the first edge and the last

  HOTPLATE_HOST_DEVICE Bins(double low_edge, double high_edge, std::int64_t bins)
      : low(low_edge == high_edge ? low_edge - 0.5 : low_edge), count(bins) {
    const double high = low_edge == high_edge ? high_edge + 0.5 : high_edge, width = high - low;
    edges = linspace::LinspaceOf<F>(low, high, bins + 1, true);
    per_unit = static_cast<double>(bins) / width;
    least = edges(0), greatest = edges(static_cast<std::uint64_t>(bins));
  }

  // The last bin whose edge (of the count + 1 in `edge`) is not above x; -1 for x outside of all.
  HOTPLATE_HOST_DEVICE std::int64_t Of(F x, const F* edge) const {
    if (!(x >= least && x <= greatest)) return -1;
    const double place = (static_cast<double>(x) - low) * per_unit;  // any number, or NaN, if bins are too narrow
    std::int64_t bin = 0;
    if (place > 0) bin = place < static_cast<double>(count) ? static_cast<std::int64_t>(place) : count - 1;
    const F own = edge[bin], next = edge[bin + 1];
    if ((x >= own) & ((bin == count - 1) | (x < next))) return bin;
    // Rounding has missed it.
    std::int64_t below = 0, above = count;
    while (above - below > 1) {
      const std::int64_t middle = below + (above - below) / 2;
      (x >= edge[middle] ? below : above) = middle;
    }
    return below;
  }
};

// The requested bins, before the data are seen.
struct Wanted {
  bool given;
  double low, high;
  std::int64_t bins;
};

// The data's own range, or the reason why there is none.
HOTPLATE_HOST_DEVICE inline Status RangeOf(const Extremes& extremes, bool empty, Wanted& wanted) {
  if (wanted.given) return kGood;
  wanted.low = empty ? 0 : extremes.least;
  wanted.high = empty ? 1 : extremes.greatest;
  if (extremes.finite == 0) return kHasNotFinite;
  const double width = wanted.high - wanted.low;
  return width - width == 0 ? kGood : kIsTooWide;
}

}  // namespace hotplate::histogram
