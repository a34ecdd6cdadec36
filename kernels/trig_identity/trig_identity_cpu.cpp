#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/multiversion.h"
#include "kernels/trig_identity/trig_identity.h"
#include "kernels/trig_identity/trig_identity_functor.h"

namespace hotplate::trig_identity {
namespace {

// Below this many elements one thread is as fast as waking others.
constexpr std::size_t kSerialBelow = 16'384;

// T: what is read; F: what is computed in and written.
template <typename T, typename F>
HOTPLATE_INLINE void Loop(TrigIdentity<F> functor, const T* __restrict x, F* __restrict y, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = functor(static_cast<F>(x[i]));
}

HOTPLATE_MULTIVERSION void Range(TrigIdentity<float> functor, const float* x, float* y, std::size_t n) {
  Loop(functor, x, y, n);
}
HOTPLATE_MULTIVERSION void Range(TrigIdentity<double> functor, const double* x, double* y, std::size_t n) {
  Loop(functor, x, y, n);
}
HOTPLATE_MULTIVERSION void Range(TrigIdentity<double> functor, const std::int32_t* x, double* y, std::size_t n) {
  Loop(functor, x, y, n);
}
HOTPLATE_MULTIVERSION void Range(TrigIdentity<double> functor, const std::int64_t* x, double* y, std::size_t n) {
  Loop(functor, x, y, n);
}

template <typename T, typename F>
Outcome Run(const Call& call, CpuContext& context) {
  const TrigIdentity<F> functor;
  const T* x = call.Input<T>("x").data();
  const std::span<F> y = call.Output<F>("y");
  Elementwise(context, y, kSerialBelow,
              [=](std::size_t begin, F* to, std::size_t count) { Range(functor, x + begin, to, count); });
  return Outcome::Ok();
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
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
      return Outcome::Failed("trig_identity: no code for this dtype");
  }
}

}  // namespace hotplate::trig_identity
