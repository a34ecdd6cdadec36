#include "kernels/call/for_type.h"
#include "kernels/call/host_device.h"
#include "kernels/catalogue/full/full.h"
#include "kernels/devices/cuda/code/elementwise.cuh"

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
  return ForType<float, double, std::int32_t, std::int64_t>("full", call.OutputType("out"),
                                                            [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::full
