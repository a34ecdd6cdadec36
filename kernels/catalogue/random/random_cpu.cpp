#include <algorithm>

#include "kernels/catalogue/random/random.h"
#include "kernels/catalogue/random/random_functor.h"
#include "kernels/devices/cpu/elementwise.h"
#include "kernels/devices/cpu/multiversion.h"

namespace hotplate::random {
namespace {

// Below this many elements one thread is as fast as waking others.
constexpr std::size_t kSerialBelow = 16'384;

// Elements from begin on, which is a multiple of a block's: ranges begin at multiples of many.
template <typename Functor, typename T = typename Functor::Element>
HOTPLATE_INLINE void Loop(Functor functor, std::uint64_t seed, std::size_t begin, T* __restrict to, std::size_t count) {
  constexpr std::size_t kCount = Functor::kCount;
  constexpr std::uint32_t kMostBlocks = 1 << 20;  // a counter's lower word is passed once at most
  for (std::size_t done = 0; done < count;) {
    const std::uint64_t first = (begin + done) / kCount;
    const std::uint32_t low = static_cast<std::uint32_t>(first), high = static_cast<std::uint32_t>(first >> 32);
    const std::uint32_t blocks =
        static_cast<std::uint32_t>(std::min<std::size_t>(kMostBlocks, (count - done) / kCount));
    T* const out = to + done;
#pragma omp simd
    for (std::uint32_t b = 0; b < blocks; ++b) {
      const std::uint32_t block = low + b;
      functor(Philox(seed, block, high + (block < low ? 1u : 0u)), out + b * kCount);
    }
    done += blocks * kCount;
    if (blocks == 0) {  // the rest of the last block
      T last[kCount];
      functor(Philox(seed, low, high), last);
      for (std::size_t i = 0; done < count; ++i, ++done) to[done] = last[i];
    }
  }
}

#define HOTPLATE_RANDOM_RANGE(Functor)                                                                           \
  HOTPLATE_MULTIVERSION void Range(Functor functor, std::uint64_t seed, std::size_t begin, Functor::Element* to, \
                                   std::size_t count) {                                                          \
    Loop(functor, seed, begin, to, count);                                                                       \
  }
HOTPLATE_RANDOM_RANGE(UniformFloat)
HOTPLATE_RANDOM_RANGE(UniformDouble)
HOTPLATE_RANDOM_RANGE(NormalFloat)
HOTPLATE_RANDOM_RANGE(NormalDouble)
HOTPLATE_RANDOM_RANGE(Integers<std::int32_t>)
HOTPLATE_RANDOM_RANGE(Integers<std::int64_t>)
HOTPLATE_RANDOM_RANGE(WideIntegers)
#undef HOTPLATE_RANDOM_RANGE

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  const std::uint64_t seed = static_cast<std::uint64_t>(call.Int("seed"));
  return WithDistribution(
      call.Choice("distribution"), call.OutputType("out"), call.Int("low"), call.Int("high"), [&](auto functor) {
        using T = typename decltype(functor)::Element;
        Elementwise(context, call.Output<T>("out"), 0, kSerialBelow,
                    [=](std::size_t begin, T* to, std::size_t count) { Range(functor, seed, begin, to, count); });
        return Outcome::Ok();
      });
}

}  // namespace hotplate::random
