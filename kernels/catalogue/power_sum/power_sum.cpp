#include "kernels/catalogue/power_sum/power_sum.h"

#include "kernels/spec/spec.h"

namespace hotplate::power_sum {
namespace {

Cost CostOf(const BoundCall& call) {
  const Signature& x = call.Input("x");
  const double n = static_cast<double>(*ElementCount(x.shape));
  return {.flop = 4 * n, .bytes = 2 * n * static_cast<double>(SizeOf(x.dtype))};
}

// Numbers too small to be normal can take a processor a hundred cycles.
double WorkBound(const BoundCall& call) { return 50 * CostOf(call).flop; }

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("power_sum", "y = x + x^2 + x^3, element by element")
      .Docs(
          "Integers keep their dtype and wrap around on overflow, as in NumPy. NaN stays NaN; where x^2 is infinite, y "
          "is infinite for a positive x and NaN for a negative one.")
      .Type("T", {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64})
      .Input("x", "T", "...", "")
      .Output("y", "T", "...", "")
      .CostModel("4 * n FLOP, 2 * n * sizeof(T) bytes: bound by memory bandwidth", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "|y - exact| at most 4 * u * (|x| + x^2 + |x|^3), u = 2^-24 in float32 and 2^-53 in float64, and what powers "
          "lose that are too small to be normal; integers are exact modulo their range; deterministic on one device")
      .Example("hotplate run power_sum x.npy -o y.npy");
}

}  // namespace hotplate::power_sum
