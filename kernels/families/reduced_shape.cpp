#include "kernels/families/reduced_shape.h"

#include "kernels/base/status.h"

namespace hotplate {

ParamSpec AxisParam(const std::string& docs, const std::string& otherwise) {
  ParamSpec param{
      .name = "axis", .type = ParamType::kChoice, .default_value = otherwise, .choices = {"all"}, .docs = docs};
  constexpr int kMost = static_cast<int>(kMaxRank);
  for (int i = 0; i < kMost; ++i) param.choices.push_back(std::to_string(i));
  for (int i = -1; i >= -kMost; --i) param.choices.push_back(std::to_string(i));
  return param;
}

ParamSpec KeepdimsParam() {
  return {.name = "keepdims",
          .type = ParamType::kBool,
          .default_value = false,
          .docs = "keep the reduced axes with size 1"};
}

absl::StatusOr<Shape> ReducedShape(const KernelSpec& spec, const Shape& shape, const std::string& axis, bool keepdims) {
  if (axis == "all") return keepdims ? Shape(shape.size(), 1) : Shape();
  const int rank = static_cast<int>(shape.size());
  const int which = AxisAt(axis, rank);
  if (which < 0 || which >= rank) {
    return InvalidField(
        "params.axis",
        spec.name() + ": axis is " + axis + ", and the array " + ToString(shape) + " has no such axis; it must be all" +
            (rank == 0 ? std::string() : " or from " + std::to_string(-rank) + " to " + std::to_string(rank - 1)));
  }
  Shape left = shape;
  if (keepdims) {
    left[static_cast<std::size_t>(which)] = 1;
  } else {
    left.erase(left.begin() + which);
  }
  return left;
}

Extent ExtentOf(const Shape& shape, const std::string& axis) {
  return ExtentOf(shape.data(), static_cast<int>(shape.size()), axis);
}

}  // namespace hotplate
