#include "kernels/call/for_type.h"
#include "kernels/catalogue/power_sum/power_sum.h"
#include "kernels/catalogue/power_sum/power_sum_functor.h"
#include "kernels/devices/cuda/code/elementwise.cuh"

namespace hotplate::power_sum {
namespace {

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  return elementwise::LaunchUnary(PowerSum<T>(), call.Input<T>("x"), call.Output<T>("y"), context);
}

}  // namespace

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("power_sum", call.InputType("x"),
                                                            [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::power_sum
