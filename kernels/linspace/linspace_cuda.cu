#include "kernels/cuda/elementwise.cuh"
#include "kernels/linspace/linspace.h"
#include "kernels/linspace/linspace_functor.h"

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
  switch (call.OutputType("out")) {
    case DType::kFloat32:
      return Run<float>(call, context);
    case DType::kFloat64:
      return Run<double>(call, context);
    case DType::kInt32:
      return Run<std::int32_t>(call, context);
    case DType::kInt64:
      return Run<std::int64_t>(call, context);
    default:
      return Outcome::Failed("linspace: no code for this dtype");
  }
}

}  // namespace hotplate::linspace
