// An array cut along the reduced axes: any one, or all. Standard library only, for both back-ends.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include "kernels/call/abi.h"
#include "kernels/call/host_device.h"

namespace hotplate {

// An array of [outer, count, inner] elements whose middle axis is reduced.
struct Extent {
  std::uint64_t outer = 1, count = 1, inner = 1;
  HOTPLATE_HOST_DEVICE constexpr std::uint64_t outputs() const { return outer * inner; }
};

// Which of `rank` axes a number in decimal digits means; a negative one counts from the last. Outside of 0 to rank - 1:
// none.
inline int AxisAt(std::string_view axis, int rank) {
  int which = 0;
  std::from_chars(axis.data(), axis.data() + axis.size(), which);
  return which < 0 ? which + rank : which;
}

// `axis`: "all", or an axis as the parameter of AxisParam has it (reduced_shape.h), which its spec has checked.
inline Extent ExtentOf(const std::int64_t* shape, int rank, std::string_view axis) {
  const auto size = [&](int i) { return static_cast<std::uint64_t>(shape[i]); };
  Extent extent;
  if (axis == "all") {
    for (int i = 0; i < rank; ++i) extent.count *= size(i);
    return extent;
  }
  const int which = AxisAt(axis, rank);
  for (int i = 0; i < which; ++i) extent.outer *= size(i);
  extent.count = size(which);
  for (int i = which + 1; i < rank; ++i) extent.inner *= size(i);
  return extent;
}
inline Extent ExtentOf(const hotplate_array& array, std::string_view axis) {
  return ExtentOf(array.shape, array.rank, axis);
}

}  // namespace hotplate
