#include "kernels/catalogue/norm/norm.h"
#include "kernels/catalogue/norm/norm_steps.h"
#include "kernels/devices/cuda/code/reduction.cuh"

namespace hotplate::norm {
namespace {

std::uint64_t StatesOf(const Extent& extent, const CudaTraits& traits) {
  return extent.outputs() == 0 || extent.count == 0 ? 0 : reduction::StateBytes(extent, traits, kStateBytes);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits) {
  const Steps steps = StepsOf(call);
  return BetweenBytes(steps) + std::max(StatesOf(steps.first, traits), StatesOf(steps.second, traits));
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  const Steps steps = StepsOf(call);
  std::byte* const scratch = call.scratch().data();
  std::byte* const states = scratch + BetweenBytes(steps);
  return RunSteps(
      call, steps, reinterpret_cast<double*>(scratch),
      [&](const auto& fold, const auto& finish, const auto* x, const Extent& extent, const double* about, auto* y) {
        if (extent.outputs() == 0) return Outcome::Ok();
        using Out = std::decay_t<decltype(*y)>;
        if (extent.count == 0) {
          return Launch(context, reduction::FillWith<Out>, GridFor(extent.outputs()), kBlockSize, Out(0), y,
                        extent.outputs());
        }
        return reduction::LaunchReduction(fold, finish, x, extent, about, states, y, context);
      });
}

}  // namespace hotplate::norm
