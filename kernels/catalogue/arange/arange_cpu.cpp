#include "kernels/call/for_type.h"
#include "kernels/catalogue/arange/arange.h"
#include "kernels/catalogue/arange/arange_functor.h"
#include "kernels/devices/cpu/elementwise.h"
#include "kernels/devices/cpu/multiversion.h"

namespace hotplate::arange {
namespace {

// Below this many elements one thread is as fast as waking others.
constexpr std::size_t kSerialBelow = 65'536;

template <typename T>
HOTPLATE_MULTIVERSION void Range(Arange<T> functor, std::size_t begin, T* __restrict to, std::size_t count) {
  if constexpr (std::is_integral_v<T>) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) to[i] = functor(begin + i);
  } else {
    const T first = functor.first, difference = functor.second - functor.first;
    EachPlace(begin, to, count, [=](double place) { return first + static_cast<T>(place) * difference; });
    for (std::size_t i = begin; i < 2 && i - begin < count; ++i) to[i - begin] = functor(i);
  }
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("arange", call.OutputType("out"), [&]<typename T>() {
    const Arange<T> functor = ArangeOf<T>(call.Float("start"), call.Float("step"));
    Elementwise(context, call.Output<T>("out"), 0, kSerialBelow,
                [=](std::size_t begin, T* to, std::size_t count) { Range(functor, begin, to, count); });
    return Outcome::Ok();
  });
}

}  // namespace hotplate::arange
