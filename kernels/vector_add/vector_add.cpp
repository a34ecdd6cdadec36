#include "kernels/vector_add/vector_add.h"

#include "kernels/spec.h"

namespace hotplate::vector_add {
namespace {

Cost CostOf(const BoundCall& call) {
  return {.flop = static_cast<double>(*ElementCount(call.outputs.front().shape)),
          .bytes = static_cast<double>(call.InputBytes()) + static_cast<double>(call.OutputBytes())};
}

// The last axis may be short, and where each line along it begins is looked for anew.
double WorkBound(const BoundCall& call) {
  const bool same = call.Input("a").shape == call.Input("b").shape;
  return (same ? 1 : 30) * static_cast<double>(*ElementCount(call.outputs.front().shape));
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("vector_add", "c = a + b, element by element")
      .Docs(
          "NumPy broadcasting: counted from the last, the sizes of a and b are the same or one of them is 1, and its "
          "element is used for all; missing leading sizes count as 1, and a scalar goes with everything. Both have the "
          "same dtype. Integers wrap around on overflow, as in NumPy, and NaN and infinities are added as there: "
          "infinity "
          "minus infinity is NaN.")
      .Type("T", {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64})
      .Input("a", "T", "broadcast ...", "first addend")
      .Input("b", "T", "broadcast ...", "second addend")
      .Output("c", "T", "...", "the sum, of the shape that NumPy broadcasting makes of both")
      .CostModel("n FLOP for n sums; bytes: both inputs and the output once; bound by memory bandwidth", CostOf)
      .WorkBound(WorkBound)
      .Numerics("correctly rounded: the same bits as NumPy; deterministic")
      .Example("hotplate run vector_add a.npy b.npy -o c.npy");
}

}  // namespace hotplate::vector_add
