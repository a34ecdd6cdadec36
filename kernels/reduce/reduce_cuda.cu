#include "kernels/cuda/reduction.cuh"
#include "kernels/reduce/reduce.h"
#include "kernels/reduce/reduce_folds.h"

namespace hotplate::reduce {
namespace {

// Scratch: the means, of std, then the states.
std::uint64_t MeanBytes(const Extent& extent, std::string_view operation) {
  return operation == "std" ? RoundUp(extent.outputs() * sizeof(double), kArenaAlignment) : 0;
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits) {
  const Extent extent = ExtentOf(call.InputArray("x"), call.Choice("axis"));
  const std::string_view operation = call.Choice("operation");
  if (extent.outputs() == 0 || extent.count == 0) return 0;
  const std::size_t state_bytes = WithFold(call.InputType("x"), operation, 0, 0, [](const auto& fold, const auto&) {
    return sizeof(typename std::decay_t<decltype(fold)>::State);
  });
  return MeanBytes(extent, operation) + reduction::StateBytes(extent, traits, state_bytes);
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  const hotplate_array &input = call.InputArray("x"), &output = call.OutputArray("y");
  const Extent extent = ExtentOf(input, call.Choice("axis"));
  const std::string_view operation = call.Choice("operation");
  if (extent.outputs() == 0) return Outcome::Ok();
  const double count = static_cast<double>(extent.count);
  return WithFold(call.InputType("x"), operation, count, call.Int("ddof"), [&](const auto& fold, const auto& finish) {
    using Fold = std::decay_t<decltype(fold)>;
    using Finish = std::decay_t<decltype(finish)>;
    using Out = typename Finish::Out;
    using T = typename Fold::Element;
    Out* const y = static_cast<Out*>(output.data);
    if (extent.count == 0) {
      return Launch(context, reduction::FillWith<Out>, GridFor(extent.outputs()), kBlockSize, OfNothing<Out>(operation),
                    y, extent.outputs());
    }
    const T* const x = static_cast<const T*>(input.data);
    double* const means = reinterpret_cast<double*>(call.scratch().data());
    std::byte* const states = call.scratch().data() + MeanBytes(extent, operation);
    if constexpr (Fold::kAbout) {
      const Quotient<double> mean{.divide = true, .divisor = count};
      if (const Outcome o =
              reduction::LaunchReduction(SumInFloat<T>(), mean, x, extent, nullptr, states, means, context);
          !o.ok()) {
        return o;
      }
    }
    return reduction::LaunchReduction(fold, finish, x, extent, means, states, y, context);
  });
}

}  // namespace hotplate::reduce
