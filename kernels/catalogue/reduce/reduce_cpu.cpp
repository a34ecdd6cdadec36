#include "kernels/catalogue/reduce/reduce.h"
#include "kernels/catalogue/reduce/reduce_folds.h"
#include "kernels/devices/cpu/reduction.h"
#include "kernels/devices/device.h"
#include "kernels/families/reduced_shape.h"

namespace hotplate::reduce {
namespace {

using reduction::Reduce;

// Scratch: the means, of std, then the states.
std::uint64_t MeanBytes(const Extent& extent, std::string_view operation) {
  return operation == "std" ? (extent.outputs() * sizeof(double) + 63) / 64 * 64 : 0;
}

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const Extent extent = ExtentOf(call.InputArray("x"), call.Choice("axis"));
  const std::string_view operation = call.Choice("operation");
  if (extent.outputs() == 0) return Outcome::Ok();
  const double count = static_cast<double>(extent.count);
  return WithFold<T>(operation, count, call.Int("ddof"), [&](const auto& fold, const auto& finish) {
    using Out = typename std::decay_t<decltype(finish)>::Out;
    const T* const x = call.Input<T>("x").data();
    Out* const y = call.Output<Out>("y").data();
    if (extent.count == 0) {
      std::fill_n(y, extent.outputs(), OfNothing<Out>(operation));
      return Outcome::Ok();
    }
    double* const means = reinterpret_cast<double*>(call.scratch().data());
    std::byte* const states = call.scratch().data() + MeanBytes(extent, operation);
    CpuContext::Part part;
    if constexpr (std::decay_t<decltype(fold)>::kAbout) {
      const Quotient<double> mean{.divide = true, .divisor = count};
      const bool whole = Reduce(
          context, SumInFloat<T>(), x, extent, nullptr, states,
          [=](const auto& state, std::size_t i) { means[i] = mean(state, i); }, part.Step(0, 2));
      if (!whole) return Outcome::Cancelled();
      part = part.Step(1, 2);
    }
    const bool whole = Reduce(
        context, fold, x, extent, means, states, [=](const auto& state, std::size_t i) { y[i] = finish(state, i); },
        part);
    return whole ? Outcome::Ok() : Outcome::Cancelled();
  });
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& x = call.Input("x");
  const Extent extent = ExtentOf(x.shape, call.Choice("axis"));
  const std::string& operation = call.Choice("operation");
  const std::uint64_t states = reduction::StateBytes(extent, StateBytes(x.dtype, operation));
  return {.scratch_bytes = MeanBytes(extent, operation) + states};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("reduce", call.InputType("x"),
                                                            [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::reduce
