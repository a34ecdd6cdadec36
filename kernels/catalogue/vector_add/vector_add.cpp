#include "kernels/catalogue/vector_add/vector_add.h"

#include "kernels/spec/spec.h"

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
          "Follows NumPy broadcasting: counted from the last dimension, sizes must be equal or one of them 1, whose "
          "element is used for all; missing leading dimensions count as 1, and a scalar combines with any shape. Both "
          "inputs have the same dtype. Integers wrap around on overflow, as in NumPy. NaN and infinities are added as "
          "in NumPy: infinity minus infinity is NaN.")
      .Type("T", {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64})
      .Input("a", "T", "broadcast ...", "first addend")
      .Input("b", "T", "broadcast ...", "second addend")
      .Output("c", "T", "...", "the sum, in the broadcast shape")
      .CostModel("n FLOP for n sums; both inputs and the output moved once: bound by memory bandwidth", CostOf)
      .WorkBound(WorkBound)
      .Numerics("correctly rounded: the same bits as NumPy; deterministic")
      .Example("hotplate run vector_add a.npy b.npy -o c.npy");
}

}  // namespace hotplate::vector_add
