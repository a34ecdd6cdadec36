#include "kernels/catalogue/trig_identity/trig_identity.h"

#include "kernels/spec/spec.h"

namespace hotplate::trig_identity {
namespace {

// A sine or a cosine is counted as 15 FLOP.
Cost CostOf(const BoundCall& call) {
  const double n = static_cast<double>(*ElementCount(call.Input("x").shape));
  const double element = static_cast<double>(SizeOf(call.Input("x").dtype) + SizeOf(call.outputs.front().dtype));
  return {.flop = 33 * n, .bytes = n * element};
}

// Sine and cosine of a huge angle each take the long way round, with many digits of pi.
double WorkBound(const BoundCall& call) { return 200 * static_cast<double>(*ElementCount(call.Input("x").shape)); }

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("trig_identity", "y = cos(x)^2 + sin(x)^2, element by element")
      .Docs(
          "Evaluates sine and cosine, so the result is 1 only up to rounding. Integers are converted to float64, as in "
          "NumPy. NaN and infinities give NaN.")
      .Type("T", {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64})
      .Input("x", "T", "...", "angles in radians")
      .Output("y", "float(T)", "...", "1 up to rounding")
      .CostModel("33 * n FLOP (counting a sine or cosine as 15), n * (sizeof(T) + sizeof(float(T))) bytes", CostOf)
      .WorkBound(WorkBound)
      .Numerics("|y - 1| at most 16 * 2^-24 in float32 and 16 * 2^-53 in float64; deterministic on one device")
      .Example("hotplate run trig_identity x.npy -o y.npy");
}

}  // namespace hotplate::trig_identity
