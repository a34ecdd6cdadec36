// Shared by the specs of the two sorts.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/catalogue/sort/sort_order.h"
#include "kernels/spec/spec.h"

namespace hotplate::sort {

inline constexpr std::size_t kMostIndexed = std::numeric_limits<std::uint32_t>::max();

inline std::size_t RowLength(const Shape& shape) { return static_cast<std::size_t>(shape.back()); }

// Why arrays of this shape cannot be sorted along their last axis; empty if they can. GPUs number the elements of
// several short rows in 32 bits.
inline std::string WhyNoRows(const Shape& shape) {
  if (shape.empty()) return "is a scalar, which has no last axis to sort along; give an array of rank 1 or more";
  const std::size_t elements = *ElementCount(shape);
  const std::size_t length = RowLength(shape);
  if (elements > kMostIndexed && elements != length && length < kLongRow) {
    return "is " + ToString(shape) + "; rows shorter than " + std::to_string(kLongRow) + " may have at most " +
           std::to_string(kMostIndexed) + " elements together";
  }
  return "";
}

// The dtypes that ForSorted takes.
inline std::vector<DType> SortedTypes() {
  return {DType::kBool,   DType::kInt8,   DType::kInt16,  DType::kInt32,   DType::kInt64,  DType::kUInt8,
          DType::kUInt16, DType::kUInt32, DType::kUInt64, DType::kFloat32, DType::kFloat64};
}

inline ParamSpec DescendingParam() {
  return {.name = "descending",
          .type = ParamType::kBool,
          .default_value = false,
          .docs = "the largest first; NaN stays last"};
}

}  // namespace hotplate::sort
