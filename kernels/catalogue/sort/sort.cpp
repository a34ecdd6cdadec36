#include "kernels/catalogue/sort/sort.h"

#include "kernels/base/status.h"
#include "kernels/catalogue/sort/sort_rows.h"
#include "kernels/spec/spec.h"

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
  return KernelSpecBuilder("sort", "y = x sorted along the last axis")
      .Docs(
          "Sorts each row along the last axis separately, in an array of any rank. As in NumPy, NaN comes last, also "
          "with --descending. Unlike NumPy, -0 sorts before 0, so that the result has the same bits on every device. "
          "The sign and payload of a NaN are not kept. argsort returns the order instead, sort_by_key also moves "
          "values with their keys; both are stable. On a GPU a running job cannot be cancelled.")
      .Type("T", SortedTypes())
      .Param(DescendingParam())
      .Input("x", "T", "..., n",
             "array to sort; at most 4294967295 elements if it has several rows of less than 1048576")
      .Output("y", "T", "..., n", "the sorted elements")
      .CostModel("0 FLOP; 2 * size * sizeof(T) bytes, read and written once; the passes of a radix sort move more",
                 CostOf)
      .WorkBound(WorkBound)
      .Numerics("exact: the same elements, sorted; the same bits on every device with any number of threads")
      .Shapes(Shapes)
      .Example("hotplate run sort x.npy -o sorted.npy");
}

}  // namespace hotplate::sort
