// An array as lines along an axis, whose elements belong together.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/array/shape.h"

namespace hotplate::conformance {

// The elements of each line, in order: those whose index differs along the axis only; all of them with axis "all".
struct Lines {
  std::size_t count = 1, stride = 1, outputs = 1;  // of a line's elements; from one to the next; of lines

  Lines(const Shape& shape, const std::string& axis) {
    const int rank = static_cast<int>(shape.size());
    const int which = axis == "all" ? rank : (std::stoi(axis) + rank) % rank;
    for (int i = 0; i < rank; ++i) {
      const std::size_t size = static_cast<std::size_t>(shape[static_cast<std::size_t>(i)]);
      if (axis == "all" || i == which) {
        count *= size;
      } else {
        outputs *= size;
        if (i > which) stride *= size;
      }
    }
  }
  std::size_t At(std::size_t line, std::size_t i) const { return At(line, i, count); }
  // The same in an array whose lines have another number of elements.
  std::size_t At(std::size_t line, std::size_t i, std::size_t elements) const {
    return line / stride * stride * elements + i * stride + line % stride;
  }
};

}  // namespace hotplate::conformance
