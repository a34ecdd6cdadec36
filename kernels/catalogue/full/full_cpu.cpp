#include "kernels/call/for_type.h"
#include "kernels/catalogue/full/full.h"
#include "kernels/devices/cpu/elementwise.h"
#include "kernels/devices/cpu/multiversion.h"

namespace hotplate::full {
namespace {

// Below this many elements one thread is as fast as waking others.
constexpr std::size_t kSerialBelow = 65'536;

template <typename T>
HOTPLATE_MULTIVERSION void Range(T value, T* __restrict to, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) to[i] = value;
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("full", call.OutputType("out"), [&]<typename T>() {
    const T value = static_cast<T>(call.Float("value"));
    Elementwise(context, call.Output<T>("out"), 0, kSerialBelow,
                [=](std::size_t, T* to, std::size_t count) { Range(value, to, count); });
    return Outcome::Ok();
  });
}

}  // namespace hotplate::full
