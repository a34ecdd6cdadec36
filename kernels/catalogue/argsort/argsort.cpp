#include "kernels/catalogue/argsort/argsort.h"

#include "kernels/base/status.h"
#include "kernels/catalogue/sort/sort_rows.h"
#include "kernels/families/reduced_shape.h"

namespace hotplate::argsort {
namespace {

std::size_t Elements(const BoundCall& call) { return *ElementCount(call.Input("x").shape); }

absl::Status Shapes(BoundCall& call) {
  const Shape& shape = call.Input("x").shape;
  const std::string& axis = call.Choice("axis");
  if (absl::Status known = ReducedShape(*call.spec, shape, axis, false).status(); !known.ok()) return known;
  if (const std::size_t elements = Elements(call); elements > sort::kMostIndexed) {
    return InvalidField("inputs.x", "argsort: x is " + ToString(shape) + "; there may be at most " +
                                        std::to_string(sort::kMostIndexed) + " elements");
  }
  const bool flat = axis == "all";
  call.outputs = {
      {.dtype = DType::kInt64, .shape = flat ? Shape{static_cast<std::int64_t>(Elements(call))} : Shape(shape)}};
  return absl::OkStatus();
}

Cost CostOf(const BoundCall& call) {
  return {.flop = 0, .bytes = static_cast<double>(call.InputBytes() + call.OutputBytes())};
}

double WorkBound(const BoundCall& call) { return 1000 + 400 * static_cast<double>(Elements(call)); }

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("argsort", "y = the indices that would sort x along an axis")
      .Docs(
          "The same as numpy.argsort(kind=\"stable\"): equal elements keep their order, also with --descending; -0 and "
          "0 are equal. NaN comes last, also with --descending, and all NaN are equal. On a GPU a running job cannot "
          "be cancelled.")
      .Type("T", sort::SortedTypes())
      .Param(AxisParam("the axis to sort along; all: x flattened, with indices into it", "-1"))
      .Param(sort::DescendingParam())
      .Input("x", "T", "...", "array to sort; at most 4294967295 elements")
      .Output("y", "int64", "...", "indices along the axis, in the order of their elements; [size] with --axis all")
      .CostModel("0 FLOP; size * (sizeof(T) + 8) bytes, read and written once; the passes of the sort move more",
                 CostOf)
      .WorkBound(WorkBound)
      .Numerics("exact: a stable sort has one result; the same bits on every device")
      .Shapes(Shapes)
      .Example("hotplate run argsort x.npy -o order.npy");
}

}  // namespace hotplate::argsort
