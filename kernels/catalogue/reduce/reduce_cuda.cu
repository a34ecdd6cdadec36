#include "kernels/catalogue/reduce/reduce.h"
#include "kernels/catalogue/reduce/reduce_folds.h"
#include "kernels/devices/cuda/code/reduction.cuh"

namespace hotplate::reduce {
namespace {

// Scratch: the means, of std, then the states.
std::uint64_t MeanBytes(const Extent& extent, std::string_view operation) {
  return operation == "std" ? RoundUp(extent.outputs() * sizeof(double), kArenaAlignment) : 0;
}

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const Extent extent = ExtentOf(call.InputArray("x"), call.Choice("axis"));
  const std::string_view operation = call.Choice("operation");
  if (extent.outputs() == 0) return Outcome::Ok();
  const double count = static_cast<double>(extent.count);
  return WithFold<T>(operation, count, call.Int("ddof"), [&](const auto& fold, const auto& finish) {
    using Out = typename std::decay_t<decltype(finish)>::Out;
    Out* const y = call.Output<Out>("y").data();
    if (extent.count == 0) {
      return Launch(context, reduction::FillWith<Out>, GridFor(extent.outputs()), kBlockSize, OfNothing<Out>(operation),
                    y, extent.outputs());
    }
    const T* const x = call.Input<T>("x").data();
    double* const means = reinterpret_cast<double*>(call.scratch().data());
    std::byte* const states = call.scratch().data() + MeanBytes(extent, operation);
    if constexpr (std::decay_t<decltype(fold)>::kAbout) {
      const Quotient<double> mean{.divide = true, .divisor = count};
      const Outcome averaged =
          reduction::LaunchReduction(SumInFloat<T>(), mean, x, extent, nullptr, states, means, context);
      if (!averaged.ok()) return averaged;
    }
    return reduction::LaunchReduction(fold, finish, x, extent, means, states, y, context);
  });
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits) {
  const Extent extent = ExtentOf(call.InputArray("x"), call.Choice("axis"));
  const std::string_view operation = call.Choice("operation");
  if (extent.outputs() == 0 || extent.count == 0) return 0;
  return MeanBytes(extent, operation) +
         reduction::StateBytes(extent, traits, StateBytes(call.InputType("x"), operation));
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("reduce", call.InputType("x"),
                                                            [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::reduce
