#include "kernels/call/for_type.h"
#include "kernels/catalogue/linspace/linspace.h"
#include "kernels/catalogue/linspace/linspace_functor.h"
#include "kernels/devices/cuda/code/elementwise.cuh"

namespace hotplate::linspace {
namespace {

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  return elementwise::LaunchIndexed(
      LinspaceOf<T>(call.Float("start"), call.Float("stop"), call.Int("num"), call.Bool("include_stop")),
      call.Output<T>("out"), context);
}

}  // namespace

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("linspace", call.OutputType("out"),
                                                            [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::linspace
