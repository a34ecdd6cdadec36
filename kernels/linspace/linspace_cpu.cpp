#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/multiversion.h"
#include "kernels/linspace/linspace.h"
#include "kernels/linspace/linspace_functor.h"

namespace hotplate::linspace {
namespace {

// Below this many elements one thread is as fast as waking others.
constexpr std::size_t kSerialBelow = 65'536;

// Elements whose places fit an int, which converts faster than a 64-bit integer.
constexpr std::size_t kPiece = 1024;

template <typename T>
HOTPLATE_INLINE void Loop(Linspace<T> functor, std::size_t begin, T* __restrict to, std::size_t count) {
  for (std::size_t piece = 0; piece < count; piece += kPiece) {
    const int most = static_cast<int>(std::min(kPiece, count - piece));
    const double first = static_cast<double>(begin + piece);
    T* const out = to + piece;
    if (functor.step == 0) {
#pragma omp simd
      for (int i = 0; i < most; ++i) out[i] = functor.Rounded(functor.Divided(first + static_cast<double>(i)));
    } else {
#pragma omp simd
      for (int i = 0; i < most; ++i) out[i] = functor.Rounded(functor.Stepped(first + static_cast<double>(i)));
    }
  }
  if (functor.last >= begin && functor.last - begin < count) to[functor.last - begin] = functor(functor.last);
}

HOTPLATE_MULTIVERSION void Range(Linspace<float> functor, std::size_t begin, float* to, std::size_t count) {
  Loop(functor, begin, to, count);
}
HOTPLATE_MULTIVERSION void Range(Linspace<double> functor, std::size_t begin, double* to, std::size_t count) {
  Loop(functor, begin, to, count);
}
HOTPLATE_MULTIVERSION void Range(Linspace<std::int32_t> functor, std::size_t begin, std::int32_t* to,
                                 std::size_t count) {
  Loop(functor, begin, to, count);
}
HOTPLATE_MULTIVERSION void Range(Linspace<std::int64_t> functor, std::size_t begin, std::int64_t* to,
                                 std::size_t count) {
  Loop(functor, begin, to, count);
}

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const Linspace<T> functor =
      LinspaceOf<T>(call.Float("start"), call.Float("stop"), call.Int("num"), call.Bool("include_stop"));
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
      return Outcome::Failed("linspace: no code for this dtype");
  }
}

}  // namespace hotplate::linspace
