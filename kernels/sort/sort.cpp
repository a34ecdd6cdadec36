#include "kernels/sort/sort.h"

#include "kernels/sort/sort_rows.h"
#include "kernels/spec.h"
#include "kernels/status.h"

namespace hotplate::sort {
namespace {

absl::Status Shapes(BoundCall& call) {
  const Signature& x = call.Input("x");
  if (const std::string why = WhyNoRows(x.shape); !why.empty()) return InvalidField("inputs.x", "sort: x " + why);
  call.outputs = {x};
  return absl::OkStatus();
}

Cost CostOf(const BoundCall& call) {
  return {.flop = 0, .bytes = static_cast<double>(call.InputBytes() + call.OutputBytes())};
}

double WorkBound(const BoundCall& call) {
  return 1000 + 100 * static_cast<double>(*ElementCount(call.Input("x").shape));
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("sort", "y = x in order, along the last axis")
      .Docs(
          "Each row along the last axis is sorted by itself; all rows of an array of any rank. As NumPy does, NaN "
          "comes last, also with --descending; unlike NumPy, -0 counts as less than 0, so that the result is the same "
          "bits on every device. A NaN's sign and payload are not kept. sort_by_key carries values along, and is "
          "stable. On a GPU it cannot be interrupted once it runs.")
      .Type("T", {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64})
      .Param(DescendingParam())
      .Input("x", "T", "..., n", "what is sorted; at most 4294967295 elements in several rows of less than 1048576")
      .Output("y", "T", "..., n", "the same elements in order")
      .CostModel("0 FLOP, 2 * size * sizeof(T) bytes, read and written once; the passes of a radix sort move more",
                 CostOf)
      .WorkBound(WorkBound)
      .Numerics("exact: the same elements in order; the same bits on every device with any number of threads")
      .Shapes(Shapes)
      .Example("hotplate run sort x.npy -o sorted.npy");
}

}  // namespace hotplate::sort
