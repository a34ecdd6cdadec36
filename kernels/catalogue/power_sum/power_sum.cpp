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
          "A large x that is read by path is divided among idle GPUs of one model, and the parts are joined in host "
          "memory; an uploaded x is already on a device and is computed there. Integers keep their dtype and wrap "
          "around on overflow, as in NumPy. NaN stays NaN. If x^2 is infinite, y is infinite for positive x and NaN "
          "for negative x.")
      .Type("T", {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64})
      .Input("x", "T", "...", "")
      .Output("y", "T", "...", "")
      .CostModel("4 * n FLOP, 2 * n * sizeof(T) bytes: bound by memory bandwidth", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "|y - exact| at most 4 * u * (|x| + x^2 + |x|^3), with u = 2^-24 in float32 and 2^-53 in float64, plus the "
          "loss in subnormal powers; integers are exact modulo their range; deterministic on one device")
      .Divisible()
      .Example("hotplate run power_sum x.npy -o y.npy");
}

}  // namespace hotplate::power_sum
