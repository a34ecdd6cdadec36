#include <algorithm>
#include <cmath>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/trig_identity/sine_cosine.h"
#include "kernels/catalogue/trig_identity/trig_identity.h"
#include "kernels/devices/cpu/elementwise.h"

namespace hotplate::trig_identity {
namespace {

// Elements reduced in one way. The parts of threads, and streamed parts, begin at a multiple of this, so that an
// element's bits do not depend on the number of threads.
constexpr std::size_t kTogether = 64;

// How many of them are not within [-most, most]: NaN is not.
template <typename F>
HOTPLATE_INLINE int Beyond(F most, const F* x) {
  int beyond = 0;
#pragma omp simd reduction(+ : beyond)
  for (std::size_t i = 0; i < kTogether; ++i) beyond += !(std::fabs(x[i]) <= most);
  return beyond;
}

// For angles beyond the range of our reductions, NaN and infinities.
template <typename F>
F OfAnyAngle(F x) {
  const F sine = std::sin(x), cosine = std::cos(x);
  return cosine * cosine + sine * sine;
}

template <typename F, typename Identity>
HOTPLATE_INLINE void Each(const F* __restrict x, F* __restrict y, const Identity& identity) {
#pragma omp simd
  for (std::size_t i = 0; i < kTogether; ++i) y[i] = identity(x[i]);
}

template <typename F>
HOTPLATE_INLINE void RedoBeyond(F most, const F* x, F* y) {
  if (Beyond(most, x) == 0) return;
  for (std::size_t i = 0; i < kTogether; ++i) {
    if (!(std::fabs(x[i]) <= most)) y[i] = OfAnyAngle(x[i]);
  }
}

// Not by libmvec: its float32 functions take sixteen times as long beyond 10 000, its float64 ones beyond 2^23.
HOTPLATE_INLINE void Together(const float* __restrict x, float* __restrict y) {
  if (Beyond(kNearFloat, x) == 0) {
    Each(x, y, [](float angle) { return SumOfSquares(Evaluate(ReduceNear(angle))); });
  } else {
    Each(x, y, [](float angle) { return SumOfSquares(Evaluate(ReduceFar(angle))); });
    RedoBeyond(kFarFloat, x, y);
  }
}
HOTPLATE_INLINE void Together(const double* __restrict x, double* __restrict y) {
  Each(x, y, [](double angle) { return SumOfSquares(Evaluate(ReduceFar(angle))); });
  RedoBeyond(kFarDouble, x, y);
}

// Whether Range is compiled for a processor with fused multiply-add: without the instruction a library's fma takes
// hundreds of times as long.
bool Fuses() {
#if defined(__x86_64__) && !defined(__clang__)
  return __builtin_cpu_supports("x86-64-v3") != 0;
#else
  return true;
#endif
}

template <typename T, typename F>
void RangeByLibrary(const T* x, F* y, std::size_t n) {
  std::transform(x, x + n, y, [](T angle) { return OfAnyAngle(static_cast<F>(angle)); });
}

template <typename T, typename F>
HOTPLATE_MULTIVERSION void Range(const T* __restrict x, F* __restrict y, std::size_t n) {
  alignas(64) F angles[kTogether], identities[kTogether];
  for (; n >= kTogether; n -= kTogether, x += kTogether, y += kTogether) {
#pragma omp simd
    for (std::size_t i = 0; i < kTogether; ++i) angles[i] = static_cast<F>(x[i]);
    Together(angles, identities);
    std::copy_n(identities, kTogether, y);
  }
  if (n == 0) return;
  for (std::size_t i = 0; i < kTogether; ++i) angles[i] = i < n ? static_cast<F>(x[i]) : F(0);
  Together(angles, identities);
  std::copy_n(identities, n, y);
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  constexpr std::size_t kSerialBelow = 16'384;  // below this many elements one thread is as fast as waking others
  return ForType<float, double, std::int32_t, std::int64_t>("trig_identity", call.InputType("x"), [&]<typename T>() {
    using F = FloatFor<T>;
    const std::span<const T> x = call.Input<T>("x");
    Elementwise(context, call.Output<F>("y"), x.size_bytes(), kSerialBelow,
                [from = x.data(), fuses = Fuses()](std::size_t begin, F* to, std::size_t count) {
                  fuses ? Range(from + begin, to, count) : RangeByLibrary(from + begin, to, count);
                });
    return Outcome::Ok();
  });
}

}  // namespace hotplate::trig_identity
