#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/multiversion.h"
#include "kernels/power_sum/power_sum.h"
#include "kernels/power_sum/power_sum_functor.h"

namespace hotplate::power_sum {
namespace {

// Below this many elements one thread is as fast as waking others.
constexpr std::size_t kSerialBelow = 131'072;

template <typename T>
HOTPLATE_MULTIVERSION void Range(const T* __restrict x, T* __restrict y, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = PowerSum<T>()(x[i]);
}

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const T* x = call.Input<T>("x").data();
  Elementwise(context, call.Output<T>("y"), kSerialBelow,
              [=](std::size_t begin, T* to, std::size_t count) { Range<T>(x + begin, to, count); });
  return Outcome::Ok();
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  switch (call.InputType("x")) {
    case DType::kFloat32:
      return Run<float>(call, context);
    case DType::kFloat64:
      return Run<double>(call, context);
    case DType::kInt32:
      return Run<std::int32_t>(call, context);
    case DType::kInt64:
      return Run<std::int64_t>(call, context);
    default:
      return Outcome::Failed("power_sum: no code for this dtype");
  }
}

}  // namespace hotplate::power_sum
