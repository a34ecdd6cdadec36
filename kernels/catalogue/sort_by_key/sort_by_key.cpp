#include "kernels/catalogue/sort_by_key/sort_by_key.h"

#include "kernels/base/status.h"
#include "kernels/catalogue/sort/sort_rows.h"
#include "kernels/spec/spec.h"

namespace hotplate::sort_by_key {
namespace {

absl::Status Shapes(BoundCall& call) {
  const Signature &keys = call.Input("keys"), &values = call.Input("values");
  if (const std::string why = sort::WhyNoRows(keys.shape); !why.empty()) {
    return InvalidField("inputs.keys", "sort_by_key: keys " + why);
  }
  if (const std::size_t elements = *ElementCount(keys.shape); elements > sort::kMostIndexed) {
    return InvalidField("inputs.keys", "sort_by_key: keys is " + ToString(keys.shape) + "; there may be at most " +
                                           std::to_string(sort::kMostIndexed) + " keys");
  }
  if (values.shape != keys.shape) {
    return InvalidField("inputs.values", "sort_by_key: values is " + ToString(values.shape) + ", keys is " +
                                             ToString(keys.shape) + "; keys and values must have the same shape");
  }
  call.outputs = {keys, values};
  return absl::OkStatus();
}

Cost CostOf(const BoundCall& call) {
  return {.flop = 0, .bytes = static_cast<double>(call.InputBytes() + call.OutputBytes())};
}

// Each key's and each value's place is random, which may cost a miss of all caches.
double WorkBound(const BoundCall& call) {
  return 1000 + 400 * static_cast<double>(*ElementCount(call.Input("keys").shape));
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("sort_by_key", "keys sorted along the last axis, and values moved with their keys")
      .Docs(
          "Sorts each row along the last axis separately. The sort is stable: values of equal keys keep their order; "
          "-0 and 0 are equal. NaN comes last, also with --descending, and all NaN are equal. With 0, 1, 2, … as "
          "values the result is NumPy's argsort(kind=\"stable\"). On a GPU a running job cannot be cancelled.")
      .Type("K", {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64})
      .Type("V", {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64})
      .Param(sort::DescendingParam())
      .Input("keys", "K", "..., n", "keys to sort by; at most 4294967295")
      .Input("values", "V", "..., n", "one value per key")
      .Output("sorted_keys", "K", "..., n", "the sorted keys")
      .Output("sorted_values", "V", "..., n", "the values, in the order of their keys")
      .CostModel(
          "0 FLOP; 2 * size * (sizeof(K) + sizeof(V)) bytes, read and written once; the passes of the sort move more",
          CostOf)
      .WorkBound(WorkBound)
      .Numerics("exact: a stable sort has one result; the same bits on every device")
      .Shapes(Shapes)
      .Example("hotplate run sort_by_key keys.npy values.npy -o sorted_keys.npy -o sorted_values.npy");
}

}  // namespace hotplate::sort_by_key
