#include "kernels/cpu/reduction.h"
#include "kernels/device.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/norm_steps.h"

namespace hotplate::norm {

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& x = call.Input("x");
  const Steps steps =
      StepsOf(x.shape.data(), static_cast<int>(x.shape.size()), call.Choice("ord"), call.Choice("axis"));
  return {.scratch_bytes = BetweenBytes(steps) + std::max(reduction::StateBytes(steps.first, kStateBytes),
                                                          reduction::StateBytes(steps.second, kStateBytes))};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  const hotplate_array& input = call.InputArray("x");
  const Steps steps = StepsOf(input.shape, input.rank, call.Choice("ord"), call.Choice("axis"));
  std::byte* const scratch = call.scratch().data();
  std::byte* const states = scratch + BetweenBytes(steps);
  const std::size_t all = steps.two ? 2 : 1;
  std::size_t step = 0;
  return RunSteps(
      call, steps, reinterpret_cast<double*>(scratch),
      [&](const auto& fold, const auto& finish, const auto* x, const Extent& extent, const double* about, auto* y) {
        const CpuContext::Part part = CpuContext::Part().Step(step++, all);
        if (extent.outputs() == 0) return Outcome::Ok();
        if (extent.count == 0) {
          std::fill_n(y, extent.outputs(), 0);
          return Outcome::Ok();
        }
        const bool whole = reduction::Reduce(
            context, fold, x, extent, about, states, [=](const auto& state, std::size_t i) { y[i] = finish(state, i); },
            part);
        return whole ? Outcome::Ok() : Outcome::Cancelled();
      });
}

}  // namespace hotplate::norm
