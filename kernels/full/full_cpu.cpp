#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/multiversion.h"
#include "kernels/full/full.h"

namespace hotplate::full {
namespace {

// Below this many elements one thread is as fast as waking others.
constexpr std::size_t kSerialBelow = 65'536;

template <typename T>
HOTPLATE_INLINE void Loop(T value, T* __restrict to, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) to[i] = value;
}

HOTPLATE_MULTIVERSION void Range(float value, float* to, std::size_t count) { Loop(value, to, count); }
HOTPLATE_MULTIVERSION void Range(double value, double* to, std::size_t count) { Loop(value, to, count); }
HOTPLATE_MULTIVERSION void Range(std::int32_t value, std::int32_t* to, std::size_t count) { Loop(value, to, count); }
HOTPLATE_MULTIVERSION void Range(std::int64_t value, std::int64_t* to, std::size_t count) { Loop(value, to, count); }

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const T value = static_cast<T>(call.Float("value"));
  Elementwise(context, call.Output<T>("out"), kSerialBelow,
              [=](std::size_t, T* to, std::size_t count) { Range(value, to, count); });
  return Outcome::Ok();
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
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
