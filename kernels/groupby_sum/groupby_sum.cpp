#include "kernels/groupby_sum/groupby_sum.h"

#include "kernels/sort/sort_rows.h"
#include "kernels/spec.h"
#include "kernels/status.h"

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
                                             ToString(keys.shape) + "; each key has one value: give them one shape");
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
  return KernelSpecBuilder("groupby_sum",
                           "the keys that there are, in order, with the sum and the count of their values")
      .Docs(
          "Each key once, ascending, with the sum of its values and how many these are: what pandas calls "
          "groupby(keys).sum() and .size(), and NumPy np.unique with np.add.at. How many keys there are depends on the "
          "data: the outputs have at most n elements. Integers are summed in int64, where they wrap around. A NaN "
          "among a key's values makes its sum NaN, as in NumPy (pandas leaves NaN out). No rows have no keys. On a GPU "
          "it cannot be interrupted once it runs.")
      .Type("K", {DType::kInt32, DType::kInt64})
      .Type("V", {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64})
      .Input("keys", "K", "n", "at most 4294967295, in any order")
      .Input("values", "V", "n", "one to each key")
      .Output("unique_keys", "K", "at most n", "each key once, ascending")
      .Output("sums", "V", "at most n", "of each key's values; int64 of integers")
      .Output("counts", "int64", "at most n", "how many values each key has")
      .CostModel("n FLOP, n * (sizeof(K) + sizeof(V)) bytes: what is read; how much is written depends on the data",
                 CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "floats are summed in float64: a sum is within count * 2^-53 * (sum of |values|) of the exact one, for "
          "float32 plus its one rounding; integers and counts are exact, modulo 2^64. The order of a sum depends on "
          "the data alone: the same bits whatever the number of threads, and deterministic on one device")
      .Shapes(Shapes)
      .Example("hotplate run groupby_sum keys.npy values.npy -o unique_keys=k.npy -o sums=s.npy -o counts=c.npy");
}

}  // namespace hotplate::groupby_sum
