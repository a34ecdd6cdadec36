#include "kernels/call/for_type.h"
#include "kernels/catalogue/vector_add/vector_add.h"
#include "kernels/catalogue/vector_add/vector_add_functor.h"
#include "kernels/devices/cpu/elementwise.h"
#include "kernels/devices/cpu/multiversion.h"

namespace hotplate::vector_add {
namespace {

// Below this many elements one thread is as fast as waking others.
constexpr std::size_t kSerialBelow = 131'072;

template <typename T>
HOTPLATE_MULTIVERSION void AddRange(const T* __restrict a, const T* __restrict b, T* __restrict c, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) c[i] = Add()(a[i], b[i]);
}

template <typename T>
HOTPLATE_MULTIVERSION void AddBroadcast(const Broadcast& shape, const T* a, const T* b, std::size_t begin, T* c,
                                        std::size_t n) {
  BroadcastRange(Add(), shape, a, b, begin, c, n);
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("vector_add", call.InputType("a"), [&]<typename T>() {
    const T *a = call.Input<T>("a").data(), *b = call.Input<T>("b").data();
    const std::size_t read = call.Input<T>("a").size_bytes() + call.Input<T>("b").size_bytes();
    const std::span<T> c = call.Output<T>("c");
    if (c.empty()) return Outcome::Ok();
    const Broadcast shape = BroadcastOf(call.InputArray("a"), call.InputArray("b"), call.OutputArray("c"));
    if (shape.IsPlain()) {
      Elementwise(context, c, read, kSerialBelow,
                  [=](std::size_t begin, T* to, std::size_t count) { AddRange(a + begin, b + begin, to, count); });
    } else {
      Elementwise(context, c, read, kSerialBelow,
                  [&](std::size_t begin, T* to, std::size_t count) { AddBroadcast(shape, a, b, begin, to, count); });
    }
    return Outcome::Ok();
  });
}

}  // namespace hotplate::vector_add
