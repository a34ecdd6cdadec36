#include "kernels/cuda/elementwise.cuh"
#include "kernels/vector_add/vector_add.h"
#include "kernels/vector_add/vector_add_functor.h"

namespace hotplate::vector_add {
namespace {

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  return elementwise::LaunchBinary(Add(), call.Input<T>("a"), call.Input<T>("b"), call.Output<T>("c"), context);
}

}  // namespace

Outcome RunCuda(const Call& call, CudaContext& context) {
  switch (call.InputType("a")) {
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

}  // namespace hotplate::vector_add
