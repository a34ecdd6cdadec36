// Lines are cut into blocks, whatever the number of threads, for the same bits. Of long lines the blocks are folded
// first; then each is gone through from the result of those before it. Scratch: the blocks' results.
#include <algorithm>

#include "kernels/catalogue/scan/scan.h"
#include "kernels/catalogue/scan/scan_folds.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/device.h"
#include "kernels/families/reduced_shape.h"

namespace hotplate::scan {
namespace {

// Neighbouring lines that a thread takes at once.
constexpr std::size_t kColumns = 64;

// Elements of a line in a block; about as many are worth a thread's while.
constexpr std::size_t kBlock = std::size_t{1} << 15;

// Goes on from the states of `width` neighbouring lines, for rows of them. y: null if only the states are wanted.
template <typename T, typename Fold, typename State>
void GoOn(const T* x, T* y, std::size_t rows, std::size_t stride, std::size_t width, State* states) {
  const Fold fold{};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < width; ++k) {
      states[k] = fold(states[k], Folded<T>::Of(x[i * stride + k]));
      if (y != nullptr) y[i * stride + k] = Folded<T>::Back(states[k]);
    }
  }
}

// Each block's total becomes that of the blocks before it. A block whose own total left the range of float64, as a
// product may that would stay at 0, is gone through from what comes before it. False if cancelled.
template <typename T, typename Fold, typename State>
bool TotalsBefore(const Blocks& blocks, const T* x, State* totals, const CpuContext& context) {
  for (std::size_t line = 0; line < blocks.extent.outputs(); ++line) {
    if (context.cancelled()) return false;
    const std::size_t outer = line / blocks.extent.inner, k = line % blocks.extent.inner;
    State before = Fold::Nothing();
    for (std::size_t block = 0; block < blocks.count; ++block) {
      State& total = totals[blocks.TotalAt(outer, block, k)];
      State up_to = Fold()(before, total);
      if (!Fold::Stands(total)) {
        const std::size_t from = block * blocks.length;
        up_to = before;
        GoOn<T, Fold>(x + blocks.InputAt(outer, from, k), static_cast<T*>(nullptr), blocks.End(block) - from,
                      blocks.extent.inner, 1, &up_to);
      }
      total = before;
      before = up_to;
    }
  }
  return true;
}

template <typename T, typename Fold>
Outcome Run(const Call& call, CpuContext& context) {
  using State = typename Folded<T>::State;
  const Blocks blocks =
      CutInto(ExtentOf(call.InputArray("x"), call.Choice("axis")), kBlock, call.Bool("include_initial"));
  const std::size_t inner = blocks.extent.inner;
  if (call.OutputArray("y").bytes == 0) return Outcome::Ok();
  const T* const x = call.Input<T>("x").data();
  T* const y = call.Output<T>("y").data();
  State* const totals = reinterpret_cast<State*>(call.scratch().data());
  const std::size_t groups = (inner + kColumns - 1) / kColumns;
  // Blocks of neighbouring lines, in the order of memory.
  const std::size_t items = blocks.extent.outer * blocks.count * groups;
  const std::size_t each = std::min(blocks.length, blocks.extent.count + 1) * std::min(inner, kColumns);
  const auto for_items = [&](bool write, CpuContext::Part part) {
    return context.ParallelChunks(
        items, std::max<std::size_t>(1, kBlock / each),
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t item = begin; item < end; ++item) {
            const std::size_t first = item % groups * kColumns, width = std::min(kColumns, inner - first);
            const std::size_t block = item / groups % blocks.count, outer = item / groups / blocks.count;
            const std::size_t from = block * blocks.length, rows = blocks.End(block) - from;
            State* const kept = blocks.count > 1 ? totals + blocks.TotalAt(outer, block, first) : nullptr;
            State states[kColumns];
            if (write && blocks.count > 1) {
              std::copy_n(kept, width, states);
            } else {
              std::fill_n(states, width, Fold::Nothing());
            }
            if (write && blocks.initial && block == 0) {
              std::fill_n(y + blocks.OutputAt(outer, 0, first) - inner, width, Folded<T>::Back(Fold::Nothing()));
            }
            if (rows == 0) continue;  // there is no x
            const T* const read = x + blocks.InputAt(outer, from, first);
            GoOn<T, Fold>(read, write ? y + blocks.OutputAt(outer, from, first) : nullptr, rows, inner, width, states);
            if (!write) std::copy_n(states, width, kept);
          }
        },
        part);
  };
  if (blocks.count > 1) {
    if (!for_items(false, {0, 0.4}) || !TotalsBefore<T, Fold>(blocks, x, totals, context)) return Outcome::Cancelled();
  }
  return for_items(true, {blocks.count > 1 ? 0.4 : 0, 1}) ? Outcome::Ok() : Outcome::Cancelled();
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& x = call.Input("x");
  const Blocks blocks = CutInto(ExtentOf(x.shape, call.Choice("axis")), kBlock, false);
  return {.scratch_bytes = blocks.totals() * StateBytes(x.dtype)};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return WithFold(call, [&]<typename T, typename Fold>() { return Run<T, Fold>(call, context); });
}

}  // namespace hotplate::scan
