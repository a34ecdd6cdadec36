#include "kernels/call/for_type.h"
#include "kernels/catalogue/arange/arange.h"
#include "kernels/catalogue/arange/arange_functor.h"
#include "kernels/devices/cuda/code/elementwise.cuh"

namespace hotplate::arange {
namespace {

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  return elementwise::LaunchIndexed(ArangeOf<T>(call.Float("start"), call.Float("step")), call.Output<T>("out"),
                                    context);
}

}  // namespace

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("arange", call.OutputType("out"),
                                                            [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::arange
