// The space of a Program as a printed kernel walks it: without axes of size 1, and with neighbours merged where every
// view walks them as one. Standard library only.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/expression/program.h"

namespace hotplate::expression {

struct CudaLayout {
  std::vector<std::int64_t> sizes;
  std::vector<int> axis_of;  // of each axis of the space: the one that it is in; -1: none (size 1)
  std::vector<std::vector<std::int64_t>> strides;  // of each view, along each axis here
  std::vector<std::uint64_t> place_strides;        // of the places in C order
  std::uint64_t places = 1;
  bool wide = false;  // some index does not fit 31 bits

  explicit CudaLayout(const Program& program);
  int rank() const { return static_cast<int>(sizes.size()); }
  // The view's elements lie in the order of the places.
  bool IsLinear(std::size_t view) const;
  // For each axis here, whether it is one of these axes of the space.
  std::vector<bool> Reduced(const std::vector<int>& axes) const;
};

}  // namespace hotplate::expression
