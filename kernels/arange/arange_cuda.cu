#include "kernels/arange/arange.h"
#include "kernels/arange/arange_functor.h"
#include "kernels/cuda/elementwise.cuh"

namespace hotplate::arange {
namespace {

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  return elementwise::LaunchIndexed(ArangeOf<T>(call.Float("start"), call.Float("step")), call.Output<T>("out"),
                                    context);
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
      return Outcome::Failed("arange: no code for this dtype");
  }
}

}  // namespace hotplate::arange
