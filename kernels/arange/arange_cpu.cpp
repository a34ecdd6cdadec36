#include "kernels/arange/arange.h"
#include "kernels/arange/arange_functor.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/multiversion.h"

namespace hotplate::arange {
namespace {

// Below this many elements one thread is as fast as waking others.
constexpr std::size_t kSerialBelow = 65'536;

// Elements whose places fit an int, which converts faster than a 64-bit integer.
constexpr std::size_t kPiece = 1024;

template <typename T>
HOTPLATE_INLINE void Loop(Arange<T> functor, std::size_t begin, T* __restrict to, std::size_t count) {
  if constexpr (std::is_integral_v<T>) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) to[i] = functor(begin + i);
  } else {
    for (std::size_t piece = 0; piece < count; piece += kPiece) {
      const int most = static_cast<int>(std::min(kPiece, count - piece));
      const double first = static_cast<double>(begin + piece);
      T* const out = to + piece;
      const T difference = functor.second - functor.first;
#pragma omp simd
      for (int i = 0; i < most; ++i) {
        out[i] = functor.first + static_cast<T>(first + static_cast<double>(i)) * difference;
      }
    }
    for (std::size_t i = begin; i < 2 && i - begin < count; ++i) to[i - begin] = functor(i);
  }
}

HOTPLATE_MULTIVERSION void Range(Arange<float> functor, std::size_t begin, float* to, std::size_t count) {
  Loop(functor, begin, to, count);
}
HOTPLATE_MULTIVERSION void Range(Arange<double> functor, std::size_t begin, double* to, std::size_t count) {
  Loop(functor, begin, to, count);
}
HOTPLATE_MULTIVERSION void Range(Arange<std::int32_t> functor, std::size_t begin, std::int32_t* to, std::size_t count) {
  Loop(functor, begin, to, count);
}
HOTPLATE_MULTIVERSION void Range(Arange<std::int64_t> functor, std::size_t begin, std::int64_t* to, std::size_t count) {
  Loop(functor, begin, to, count);
}

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const Arange<T> functor = ArangeOf<T>(call.Float("start"), call.Float("step"));
  Elementwise(context, call.Output<T>("out"), kSerialBelow,
              [=](std::size_t begin, T* to, std::size_t count) { Range(functor, begin, to, count); });
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
      return Outcome::Failed("arange: no code for this dtype");
  }
}

}  // namespace hotplate::arange
