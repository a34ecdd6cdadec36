#include "kernels/catalogue/groupby_sum/groupby_sum.h"

#include "kernels/base/status.h"
#include "kernels/catalogue/sort/sort_rows.h"
#include "kernels/spec/spec.h"

namespace hotplate::groupby_sum {
namespace {

absl::Status Shapes(BoundCall& call) {
  const Signature &keys = call.Input("keys"), &values = call.Input("values");
  if (keys.shape.size() != 1) {
    return InvalidField("inputs.keys", "groupby_sum: keys is " + ToString(keys.shape) + "; it must be [n]");
  }
  if (static_cast<std::size_t>(keys.shape[0]) > sort::kMostIndexed) {
    return InvalidField("inputs.keys", "groupby_sum: keys is " + ToString(keys.shape) + "; there may be at most " +
                                           std::to_string(sort::kMostIndexed) + " keys");
  }
  if (values.shape != keys.shape) {
    return InvalidField("inputs.values", "groupby_sum: values is " + ToString(values.shape) + ", keys is " +
                                             ToString(keys.shape) + "; keys and values must have the same shape");
  }
  const DType sums = IsFloating(values.dtype) ? values.dtype : DType::kInt64;
  call.outputs = {keys, {.dtype = sums, .shape = keys.shape}, {.dtype = DType::kInt64, .shape = keys.shape}};
  return absl::OkStatus();
}

double Rows(const BoundCall& call) { return static_cast<double>(*ElementCount(call.Input("keys").shape)); }

Cost CostOf(const BoundCall& call) { return {.flop = Rows(call), .bytes = static_cast<double>(call.InputBytes())}; }

// Each value's place is random, which may cost a miss of all caches.
double WorkBound(const BoundCall& call) { return 2000 + 400 * Rows(call); }

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("groupby_sum", "distinct keys in order, with the sum and count of their values")
      .Docs(
          "Returns each key once, in ascending order, with the sum and the number of its values: groupby(keys).sum() "
          "and .size() in pandas, np.unique with np.add.at in NumPy. The number of keys depends on the data; the "
          "outputs have at most n elements. Integers are summed in int64 and wrap around. A NaN among the values of a "
          "key makes its sum NaN, as in NumPy (pandas skips NaN). Empty input gives empty output. On a GPU a running "
          "job cannot be cancelled.")
      .Type("K", {DType::kInt32, DType::kInt64})
      .Type("V", {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64})
      .Input("keys", "K", "n", "the keys, in any order; at most 4294967295")
      .Input("values", "V", "n", "one value per key")
      .Output("unique_keys", "K", "at most n", "the distinct keys, ascending")
      .Output("sums", "V", "at most n", "sum of the values of each key; int64 for integers")
      .Output("counts", "int64", "at most n", "number of values of each key")
      .CostModel("n FLOP; reads n * (sizeof(K) + sizeof(V)) bytes; how much it writes depends on the data", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "floats are summed in float64: a sum is within count * 2^-53 * (sum of |values|) of the exact sum, plus one "
          "rounding for float32; integers and counts are exact modulo 2^64. The order of summation depends only on the "
          "data: the same bits with any number of threads, deterministic on one device")
      .Shapes(Shapes)
      .Example("hotplate run groupby_sum keys.npy values.npy -o unique_keys=k.npy -o sums=s.npy -o counts=c.npy");
}

}  // namespace hotplate::groupby_sum
