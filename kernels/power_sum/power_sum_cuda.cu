#include "kernels/cuda/elementwise.cuh"
#include "kernels/power_sum/power_sum.h"
#include "kernels/power_sum/power_sum_functor.h"

namespace hotplate::power_sum {
namespace {

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  return elementwise::LaunchUnary(PowerSum<T>(), call.Input<T>("x"), call.Output<T>("y"), context);
}

}  // namespace

Outcome RunCuda(const Call& call, CudaContext& context) {
  switch (call.InputType("x")) {
    case DType::kFloat32:
      return Run<float>(call, context);
    case DType::kFloat64:
      return Run<double>(call, context);
    case DType::kInt32:
      return Run<std::int32_t>(call, context);
    case DType::kInt64:
      return Run<std::int64_t>(call, context);
    default:
      return Outcome::Failed("no code for this dtype");
  }
}

}  // namespace hotplate::power_sum
