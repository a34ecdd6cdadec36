#include "kernels/catalogue/random/random.h"
#include "kernels/catalogue/random/random_functor.h"
#include "kernels/devices/cuda/code/elementwise.cuh"

namespace hotplate::random {
namespace {

template <typename Functor>
struct ByIndex {
  using Element = typename Functor::Element;
  static constexpr int kCount = Functor::kCount;
  Functor functor;
  std::uint64_t seed;

  HOTPLATE_HOST_DEVICE void Block(std::uint64_t block, Element* y) const {
    functor(Philox(seed, static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32)), y);
  }
  HOTPLATE_HOST_DEVICE Element operator()(std::uint64_t index) const {
    Element block[kCount];
    Block(index / kCount, block);
    return block[index % kCount];
  }
  template <int kWidth>
  HOTPLATE_HOST_DEVICE void Several(std::uint64_t index, Element (&y)[kWidth]) const {
    if constexpr (kWidth < kCount) {
      for (int i = 0; i < kWidth; ++i) y[i] = (*this)(index + static_cast<std::uint64_t>(i));
    } else {
      for (int i = 0; i < kWidth; i += kCount) Block((index + static_cast<std::uint64_t>(i)) / kCount, y + i);
    }
  }
};

}  // namespace

Outcome RunCuda(const Call& call, CudaContext& context) {
  const std::uint64_t seed = static_cast<std::uint64_t>(call.Int("seed"));
  return WithDistribution(
      call.Choice("distribution"), call.OutputType("out"), call.Int("low"), call.Int("high"), [&](auto functor) {
        return elementwise::LaunchIndexed(ByIndex<decltype(functor)>{functor, seed},
                                          call.Output<typename decltype(functor)::Element>("out"), context);
      });
}

}  // namespace hotplate::random
