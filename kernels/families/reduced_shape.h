// The parameters axis and keepdims of reductions, and the resulting shape.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "kernels/families/axis.h"
#include "kernels/spec/spec.h"

namespace hotplate {

// "all", or an axis from either end, as NumPy counts them.
ParamSpec AxisParam(const std::string& docs, const std::string& otherwise = "all");
ParamSpec KeepdimsParam();

// INVALID_ARGUMENT: the array has no such axis.
absl::StatusOr<Shape> ReducedShape(const KernelSpec& spec, const Shape& shape, const std::string& axis, bool keepdims);

// For a call that the spec has accepted.
Extent ExtentOf(const Shape& shape, const std::string& axis);

}  // namespace hotplate
