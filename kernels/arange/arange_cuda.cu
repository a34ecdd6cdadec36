#include "kernels/arange/arange.h"
#include "kernels/arange/arange_functor.h"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/for_type.h"

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
