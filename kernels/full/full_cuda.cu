#include "kernels/cuda/elementwise.cuh"
#include "kernels/full/full.h"
#include "kernels/host_device.h"

namespace hotplate::full {
namespace {

template <typename T>
struct Constant {
  T value;

  HOTPLATE_HOST_DEVICE T operator()(std::uint64_t) const { return value; }
};

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  return elementwise::LaunchIndexed(Constant<T>{static_cast<T>(call.Float("value"))}, call.Output<T>("out"), context);
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
      return Outcome::Failed("full: no code for this dtype");
  }
}

}  // namespace hotplate::full
