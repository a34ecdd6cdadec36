#include "kernels/catalogue/flatnonzero/flatnonzero.h"

#include "kernels/spec/spec.h"

namespace hotplate::flatnonzero {
namespace {

std::size_t Elements(const BoundCall& call) { return *ElementCount(call.Input("x").shape); }

absl::Status Shapes(BoundCall& call) {
  call.outputs = {{.dtype = DType::kInt64, .shape = {static_cast<std::int64_t>(Elements(call))}}};
  return absl::OkStatus();
}

Cost CostOf(const BoundCall& call) { return {.flop = 0, .bytes = static_cast<double>(call.InputBytes())}; }

double WorkBound(const BoundCall& call) { return 1000 + 40 * static_cast<double>(Elements(call)); }

std::vector<DType> AllTypes() {
  std::vector<DType> all;
  for (int number = 1; number <= kDTypeCount; ++number) all.push_back(*DTypeFromNumber(number));
  return all;
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("flatnonzero", "the positions of the elements that are not zero")
      .Docs(
          "As numpy.flatnonzero: positions count elements in C order, ascending; numpy.unravel_index makes an "
          "index for each axis of them. The number of positions depends on the data; there are at most as many as "
          "elements. -0 is zero, NaN is not; a complex number is zero if both parts are. On a GPU a running job cannot "
          "be cancelled.")
      .Type("T", AllTypes())
      .Input("x", "T", "...", "an array, or a mask")
      .Output("positions", "int64", "at most n", "where x, flattened, is not zero; n is the number of elements")
      .CostModel("0 FLOP; reads n * sizeof(T) bytes; how much it writes depends on the data", CostOf)
      .WorkBound(WorkBound)
      .Numerics("exact: the same bits on every device")
      .Shapes(Shapes)
      .Example("hotplate run flatnonzero mask.npy -o positions.npy");
}

}  // namespace hotplate::flatnonzero
