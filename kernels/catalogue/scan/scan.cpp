#include "kernels/catalogue/scan/scan.h"

#include "kernels/families/reduced_shape.h"

namespace hotplate::scan {
namespace {

double Elements(const BoundCall& call) { return static_cast<double>(*ElementCount(call.Input("x").shape)); }

absl::Status Shapes(BoundCall& call) {
  const Signature& x = call.Input("x");
  const std::string& axis = call.Choice("axis");
  if (absl::Status known = ReducedShape(*call.spec, x.shape, axis, false).status(); !known.ok()) return known;
  Shape shape = x.shape;
  std::size_t at = 0;
  if (axis == "all") {
    shape = {static_cast<std::int64_t>(*ElementCount(x.shape))};
  } else {
    at = static_cast<std::size_t>(AxisAt(axis, static_cast<int>(shape.size())));
  }
  if (call.Bool("include_initial")) ++shape[at];
  call.outputs = {{.dtype = x.dtype, .shape = std::move(shape)}};
  return absl::OkStatus();
}

// A complex product is four products and two sums.
Cost CostOf(const BoundCall& call) {
  const bool complex = IsComplex(call.Input("x").dtype), product = call.Choice("operation") == "prod";
  return {.flop = (complex ? (product ? 6 : 2) : 1) * Elements(call),
          .bytes = static_cast<double>(call.InputBytes() + call.OutputBytes())};
}

double WorkBound(const BoundCall& call) {
  return 1000 + 40 * Elements(call) + 40 * static_cast<double>(*ElementCount(call.outputs.front().shape));
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("scan", "the sums or products of the elements up to each, along an axis")
      .Docs(
          "numpy.cumsum and numpy.cumprod, but y has the dtype of x: convert smaller integers first. Integers wrap "
          "around. A NaN makes itself and everything behind it NaN. With --include-initial, y begins with the sum or "
          "product of nothing, 0 or 1, and is one longer. On a GPU a running job cannot be cancelled.")
      .Type("T", {DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64, DType::kFloat32, DType::kFloat64,
                  DType::kComplex64, DType::kComplex128})
      .Param({.name = "operation",
              .type = ParamType::kChoice,
              .default_value = std::string("sum"),
              .choices = {"sum", "prod"},
              .docs = "sum or product"})
      .Param(AxisParam("the axis to go along; all: x flattened"))
      .Param({.name = "include_initial",
              .type = ParamType::kBool,
              .default_value = false,
              .docs = "begin with the result of no elements"})
      .Input("x", "T", "...", "")
      .Output("y", "T", "...", "as x, or one longer along the axis; flattened with --axis all")
      .CostModel("n FLOP (complex: 2 * n, of products 6 * n); x and y moved once: bound by memory bandwidth", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "integers are exact modulo 2^32 or 2^64. Floats are summed and multiplied in float64 and rounded once. The "
          "sum of n elements is within n * 2^-52 * (sum of their magnitudes) of the exact one plus that rounding, each "
          "part of a complex sum by itself; a product within a relative n * 2^-52, a complex one n * 2^-50 of its "
          "magnitude; unless a partial result leaves the range of float64, on a GPU also one of a run of elements. The "
          "same bits with any number of threads; deterministic on one device")
      .Shapes(Shapes)
      .Example("hotplate run scan x.npy --axis 0 -o y.npy");
}

}  // namespace hotplate::scan
