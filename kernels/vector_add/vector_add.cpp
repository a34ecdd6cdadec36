#include "kernels/vector_add/vector_add.h"

#include "kernels/spec.h"

namespace hotplate::vector_add {
namespace {

Cost CostOf(const BoundCall& call) {
  const Signature& a = call.Input("a");
  const double n = static_cast<double>(*ElementCount(a.shape));
  return {.flop = n, .bytes = 3 * n * static_cast<double>(SizeOf(a.dtype))};
}

double WorkBound(const BoundCall& call) { return CostOf(call).flop; }

}  // namespace

KernelSpec Spec() {
  return KernelSpecBuilder("vector_add", "c = a + b, element by element")
      .Docs(
          "Both inputs have the same shape and dtype; there is no broadcasting. Integers wrap around on overflow, as "
          "in "
          "NumPy.")
      .Type("T", {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64})
      .Input("a", "T", "...", "first addend")
      .Input("b", "T", "...", "second addend")
      .Output("c", "T", "...", "the sum")
      .CostModel("n FLOP, 3 * n * sizeof(T) bytes: bound by memory bandwidth", CostOf)
      .WorkBound(WorkBound)
      .Numerics("correctly rounded: the same bits as NumPy; deterministic")
      .Example("hotplate run vector_add a.npy b.npy -o c.npy")
      .Build();
}

}  // namespace hotplate::vector_add
