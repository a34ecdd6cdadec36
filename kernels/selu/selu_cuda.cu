#include "kernels/cuda/elementwise.cuh"
#include "kernels/selu/selu.h"
#include "kernels/selu/selu_functor.h"

namespace hotplate::selu {
namespace {

// T: what is read; F: what is computed in and written.
template <typename T, typename F>
Outcome Run(const Call& call, CudaContext& context) {
  const Selu<F> functor{.alpha = static_cast<F>(call.Float("alpha")), .lambda = static_cast<F>(call.Float("lambda"))};
  return elementwise::LaunchUnary(functor, call.Input<T>("x"), call.Output<F>("y"), context);
}

}  // namespace

Outcome RunCuda(const Call& call, CudaContext& context) {
  switch (call.InputType("x")) {
    case DType::kFloat32:
      return Run<float, float>(call, context);
    case DType::kFloat64:
      return Run<double, double>(call, context);
    case DType::kInt32:
      return Run<std::int32_t, double>(call, context);
    case DType::kInt64:
      return Run<std::int64_t, double>(call, context);
    default:
      return Outcome::Failed("no code for this dtype");
  }
}

}  // namespace hotplate::selu
