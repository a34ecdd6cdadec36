#include "kernels/cpu/reduction.h"
#include "kernels/device.h"
#include "kernels/reduce/reduce.h"
#include "kernels/reduce/reduce_folds.h"
#include "kernels/reduced_shape.h"

namespace hotplate::reduce {
namespace {

using reduction::Reduce;

template <typename Fold>
HOTPLATE_MULTIVERSION void Vector(const Fold& fold, const typename Fold::Element* x, std::size_t rows,
                                  std::size_t stride, std::size_t columns, const double* about, typename Fold::First* a,
                                  typename Fold::Second* b) {
  reduction::FoldLoop(fold, x, rows, stride, columns, about, a, b);
}

// Scratch: the means, of std, then the states.
std::uint64_t MeanBytes(const Extent& extent, std::string_view operation) {
  return operation == "std" ? (extent.outputs() * sizeof(double) + 63) / 64 * 64 : 0;
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& x = call.Input("x");
  const Extent extent = ExtentOf(x.shape, call.Choice("axis"));
  const std::string& operation = call.Choice("operation");
  const std::uint64_t states = WithFold(x.dtype, operation, 0, 0, [&](const auto& fold, const auto&) {
    return reduction::StateBytes(extent, sizeof(typename std::decay_t<decltype(fold)>::State));
  });
  return {.scratch_bytes = MeanBytes(extent, operation) + states};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  const hotplate_array &input = call.InputArray("x"), &output = call.OutputArray("y");
  const Extent extent = ExtentOf(input, call.Choice("axis"));
  const std::string_view operation = call.Choice("operation");
  if (extent.outputs() == 0) return Outcome::Ok();
  const double count = static_cast<double>(extent.count);
  const bool whole =
      WithFold(call.InputType("x"), operation, count, call.Int("ddof"), [&](const auto& fold, const auto& finish) {
        using Fold = std::decay_t<decltype(fold)>;
        using Out = typename std::decay_t<decltype(finish)>::Out;
        using T = typename Fold::Element;
        const T* const x = static_cast<const T*>(input.data);
        Out* const y = static_cast<Out*>(output.data);
        if (extent.count == 0) {
          std::fill_n(y, extent.outputs(), OfNothing<Out>(operation));
          return true;
        }
        double* const means = reinterpret_cast<double*>(call.scratch().data());
        std::byte* const states = call.scratch().data() + MeanBytes(extent, operation);
        CpuContext::Part part;
        if constexpr (Fold::kAbout) {
          const Quotient<double> mean{.divide = true, .divisor = count};
          if (!Reduce(
                  context, SumInFloat<T>(), Vector<SumInFloat<T>>, x, extent, nullptr, states,
                  [=](const auto& state, std::size_t i) { means[i] = mean(state, i); }, part.Step(0, 2))) {
            return false;
          }
          part = part.Step(1, 2);
        }
        return Reduce(
            context, fold, Vector<Fold>, x, extent, means, states,
            [=](const auto& state, std::size_t i) { y[i] = finish(state, i); }, part);
      });
  return whole ? Outcome::Ok() : Outcome::Cancelled();
}

}  // namespace hotplate::reduce
