// What the specs of the two sorts share.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "kernels/spec.h"

namespace hotplate::sort {

inline constexpr std::size_t kMostIndexed = std::numeric_limits<std::uint32_t>::max();

inline std::size_t RowLength(const Shape& shape) { return static_cast<std::size_t>(shape.back()); }

// What is wrong with arrays of this shape for a sort along their last axis; empty if nothing is. GPUs number the
// elements of several rows in 32 bits.
inline std::string WhyNoRows(const Shape& shape) {
  if (shape.empty()) return "is a scalar, which has no last axis to sort along; give an array of rank 1 or more";
  const std::size_t elements = *ElementCount(shape);
  if (elements > kMostIndexed && elements != RowLength(shape)) {
    return "is " + ToString(shape) + "; an array of more than one row may have at most " +
           std::to_string(kMostIndexed) + " elements";
  }
  return "";
}

inline ParamSpec DescendingParam() {
  return {.name = "descending",
          .type = ParamType::kBool,
          .default_value = false,
          .docs = "the largest first; NaN stays last"};
}

}  // namespace hotplate::sort
