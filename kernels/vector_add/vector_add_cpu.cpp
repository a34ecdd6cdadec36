#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/multiversion.h"
#include "kernels/vector_add/vector_add.h"
#include "kernels/vector_add/vector_add_functor.h"

namespace hotplate::vector_add {
namespace {

// Below this many elements one thread is as fast as waking others.
constexpr std::size_t kSerialBelow = 131'072;

template <typename T>
HOTPLATE_INLINE void Loop(const T* __restrict a, const T* __restrict b, T* __restrict c, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) c[i] = Add()(a[i], b[i]);
}

HOTPLATE_MULTIVERSION void AddRange(const float* a, const float* b, float* c, std::size_t n) { Loop(a, b, c, n); }
HOTPLATE_MULTIVERSION void AddRange(const double* a, const double* b, double* c, std::size_t n) { Loop(a, b, c, n); }
HOTPLATE_MULTIVERSION void AddRange(const std::int32_t* a, const std::int32_t* b, std::int32_t* c, std::size_t n) {
  Loop(a, b, c, n);
}
HOTPLATE_MULTIVERSION void AddRange(const std::int64_t* a, const std::int64_t* b, std::int64_t* c, std::size_t n) {
  Loop(a, b, c, n);
}

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const T *a = call.Input<T>("a").data(), *b = call.Input<T>("b").data();
  const std::span<T> c = call.Output<T>("c");
  Elementwise(context, c, kSerialBelow,
              [=](std::size_t begin, T* to, std::size_t count) { AddRange(a + begin, b + begin, to, count); });
  return Outcome::Ok();
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
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
      return Outcome::Failed("vector_add: no code for this dtype");
  }
}

}  // namespace hotplate::vector_add
