#include <algorithm>
#include <atomic>

#include "kernels/catalogue/norm/norm.h"
#include "kernels/catalogue/norm/norm_steps.h"
#include "kernels/devices/cpu/reduction.h"
#include "kernels/devices/device.h"

namespace hotplate {

template <typename E>
inline constexpr bool reduction::kCostly<folds::Sum<E, double, norm::Power>> = true;
template <typename E>
inline constexpr bool reduction::kCostly<folds::Sum<E, double, norm::PowerOfShare>> = true;
template <typename E>
inline constexpr bool reduction::kCostly<folds::Sum<E, double, norm::WholePowerOfShare>> = true;

}  // namespace hotplate

namespace hotplate::norm {
namespace {

enum class Squares { kSummed, kCancelled, kOutOfRange };

// Whether a sum that is 0 is one of zeros, and not of squares too small to be numbers. Asked only of a row that lies in
// one piece and was in the cache just now: to look again at others takes as long as to sum them again.
bool IsOfZeros(const double* x, const Extent& extent, std::size_t output) {
  if (extent.inner != 1 || extent.count > reduction::kBlock) return false;
  const double* const row = x + output * extent.count;
  return std::all_of(row, row + extent.count, [](double one) { return one == 0; });
}

// The roots of plain sums of squares, which are faster than scaled ones. A sum is out of range if it may have
// underflowed or is infinite; NaN is right.
template <typename T>
Squares RootsOfPlainSums(CpuContext& context, const double* x, const Extent& extent, void* states, T* y,
                         CpuContext::Part part) {
  constexpr double kLeast = 0x1p-900, kMost = 0x1p1020;
  std::atomic<bool> in_range{true};
  const auto finish = [&, y](const folds::One<double>& sum, std::size_t i) {
    const bool lost = sum.value < kLeast && !(sum.value == 0 && IsOfZeros(x, extent, i));
    if (lost || sum.value > kMost) in_range.store(false, std::memory_order_relaxed);
    y[i] = static_cast<T>(std::sqrt(sum.value));
  };
  if (!reduction::Reduce(context, folds::Sum<double, double, Square>(), x, extent, nullptr, states, finish, part)) {
    return Squares::kCancelled;
  }
  return in_range.load(std::memory_order_relaxed) ? Squares::kSummed : Squares::kOutOfRange;
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Steps steps = StepsOf(call);
  return {.scratch_bytes = BetweenBytes(steps) + std::max(reduction::StateBytes(steps.first, kStateBytes),
                                                          reduction::StateBytes(steps.second, kStateBytes))};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  const Steps steps = StepsOf(call);
  std::byte* const scratch = call.scratch().data();
  std::byte* const states = scratch + BetweenBytes(steps);
  const std::size_t all = steps.two ? 2 : 1;
  std::size_t step = 0;
  return RunSteps(
      call, steps, reinterpret_cast<double*>(scratch),
      [&](const auto& fold, const auto& finish, const auto* x, const Extent& extent, const double* about, auto* y) {
        CpuContext::Part part = CpuContext::Part().Step(step++, all);
        if (extent.outputs() == 0) return Outcome::Ok();
        if (extent.count == 0) {
          std::fill_n(y, extent.outputs(), 0);
          return Outcome::Ok();
        }
        if constexpr (std::is_same_v<std::decay_t<decltype(fold)>, ScaledSquares>) {
          const Squares squares = RootsOfPlainSums(context, x, extent, states, y, part);
          if (squares != Squares::kOutOfRange) {
            return squares == Squares::kSummed ? Outcome::Ok() : Outcome::Cancelled();
          }
          part.from = part.to;
        }
        const bool whole = reduction::Reduce(
            context, fold, x, extent, about, states, [=](const auto& state, std::size_t i) { y[i] = finish(state, i); },
            part);
        return whole ? Outcome::Ok() : Outcome::Cancelled();
      });
}

}  // namespace hotplate::norm
