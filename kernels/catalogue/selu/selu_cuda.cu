#include "kernels/call/for_type.h"
#include "kernels/catalogue/selu/selu.h"
#include "kernels/catalogue/selu/selu_functor.h"
#include "kernels/devices/cuda/code/elementwise.cuh"

namespace hotplate::selu {
namespace {

// T: the input's type; F: the type of computation and output.
template <typename T, typename F>
Outcome Run(const Call& call, CudaContext& context) {
  const Selu<F> functor{.alpha = static_cast<F>(call.Float("alpha")), .lambda = static_cast<F>(call.Float("lambda"))};
  return elementwise::LaunchUnary(functor, call.Input<T>("x"), call.Output<F>("y"), context);
}

}  // namespace

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>(
      "selu", call.InputType("x"), [&]<typename T>() { return Run<T, FloatFor<T>>(call, context); });
}

}  // namespace hotplate::selu
