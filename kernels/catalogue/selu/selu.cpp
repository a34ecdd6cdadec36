#include "kernels/catalogue/selu/selu.h"

#include <limits>

#include "kernels/spec/spec.h"

namespace hotplate::selu {
namespace {

// expm1 is counted as 18 FLOP.
Cost CostOf(const BoundCall& call) {
  const double n = static_cast<double>(*ElementCount(call.Input("x").shape));
  const double element = static_cast<double>(SizeOf(call.Input("x").dtype) + SizeOf(call.outputs.front().dtype));
  return {.flop = 20 * n, .bytes = n * element};
}

// A number too small to be normal can take a processor a hundred cycles.
double WorkBound(const BoundCall& call) { return 60 * static_cast<double>(*ElementCount(call.Input("x").shape)); }

// So that a factor is finite in every type that is computed in: the branch that does not apply adds it times zero.
constexpr double kLargest = std::numeric_limits<float>::max();

ParamSpec Factor(const char* name, double default_value, const char* docs) {
  return {.name = name,
          .type = ParamType::kFloat,
          .default_value = default_value,
          .minimum = -kLargest,
          .maximum = kLargest,
          .docs = docs};
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("selu", "y = lambda * (x > 0 ? x : alpha * (exp(x) - 1)), element by element")
      .Docs(
          "The scaled exponential linear unit. exp(x) - 1 is computed as expm1(x), which stays accurate near 0. "
          "Integers are converted to float64. NaN stays NaN.")
      .Type("T", {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64})
      .Param(Factor("alpha", 1.67, "factor of the negative branch"))
      .Param(Factor("lambda", 1.05, "factor of both branches"))
      .Input("x", "T", "...", "")
      .Output("y", "float(T)", "...", "")
      .CostModel("20 * n FLOP (counting expm1 as 18), n * (sizeof(T) + sizeof(float(T))) bytes", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "relative error at most 12 * 2^-24 in float32, 12 * 2^-53 in float64 (plus the rounding of the parameters to "
          "that type, and of a negative branch that is subnormal before lambda multiplies it); NaN stays NaN; "
          "deterministic on one device")
      .Example("hotplate run selu x.npy -o y.npy");
}

}  // namespace hotplate::selu
