// A thread goes along a block of a line. If lines are few and long, the blocks are folded first, and a block of threads
// folds those of a line. Scratch: the blocks' results.
#include "kernels/catalogue/scan/scan.h"
#include "kernels/catalogue/scan/scan_folds.h"
#include "kernels/devices/cuda/code/block_fold.cuh"
#include "kernels/devices/cuda/code/traits.h"

namespace hotplate::scan {
namespace {

// So many lines keep a device busy.
constexpr std::uint64_t kManyLines = 1 << 16;
constexpr std::uint64_t kBlock = 256;

Blocks BlocksOf(const Call& call) {
  const Extent extent = ExtentOf(call.InputArray("x"), call.Choice("axis"));
  const std::uint64_t length = extent.outputs() < kManyLines ? kBlock : std::max<std::uint64_t>(extent.count, 1);
  return CutInto(extent, length, call.Bool("include_initial"));
}

// y: null if only the blocks' results are wanted.
template <typename T, typename Fold>
__global__ void GoAlong(const T* x, T* y, typename Folded<T>::State* totals, Blocks blocks) {
  using State = typename Folded<T>::State;
  const std::uint64_t inner = blocks.extent.inner, items = blocks.extent.outputs() * blocks.count;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  const Fold fold{};
  for (std::uint64_t item = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; item < items; item += stride) {
    const std::uint64_t k = item % inner, block = item / inner % blocks.count, outer = item / inner / blocks.count;
    State* const kept = blocks.count > 1 ? totals + blocks.TotalAt(outer, block, k) : nullptr;
    State state = y != nullptr && blocks.count > 1 ? *kept : Fold::Nothing();
    if (y != nullptr && blocks.initial && block == 0) {
      y[blocks.OutputAt(outer, 0, k) - inner] = Folded<T>::Back(Fold::Nothing());
    }
    for (std::uint64_t i = block * blocks.length; i < blocks.End(block); ++i) {
      state = fold(state, Folded<T>::Of(x[blocks.InputAt(outer, i, k)]));
      if (y != nullptr) y[blocks.OutputAt(outer, i, k)] = Folded<T>::Back(state);
    }
    if (y == nullptr) *kept = state;
  }
}

template <typename State, typename Fold>
__global__ void __launch_bounds__(kBlockSize) FoldLines(State* totals, Blocks blocks) {
  const std::uint64_t inner = blocks.extent.inner;
  for (std::uint64_t line = blockIdx.x; line < blocks.extent.outputs(); line += gridDim.x) {
    FoldTotals(totals + blocks.TotalAt(line / inner, 0, line % inner), blocks.count, inner, Fold::Nothing(), Fold());
  }
}

template <typename T, typename Fold>
Outcome Run(const Call& call, CudaContext& context) {
  using State = typename Folded<T>::State;
  const Blocks blocks = BlocksOf(call);
  if (call.OutputArray("y").bytes == 0) return Outcome::Ok();
  const T* const x = call.Input<T>("x").data();
  T* const y = call.Output<T>("y").data();
  State* const totals = reinterpret_cast<State*>(call.scratch().data());
  const std::uint64_t lines = blocks.extent.outputs();
  const unsigned grid = GridFor(lines * blocks.count);
  if (blocks.count > 1) {
    const Outcome folded =
        Launch(context, GoAlong<T, Fold>, grid, kBlockSize, x, static_cast<T*>(nullptr), totals, blocks);
    if (!folded.ok()) return folded;
    const Outcome before = Launch(context, FoldLines<State, Fold>, GridFor(lines, 1, 1), kBlockSize, totals, blocks);
    if (!before.ok()) return before;
  }
  return Launch(context, GoAlong<T, Fold>, grid, kBlockSize, x, y, totals, blocks);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  return BlocksOf(call).totals() * StateBytes(call.InputType("x"));
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return WithFold(call, [&]<typename T, typename Fold>() { return Run<T, Fold>(call, context); });
}

}  // namespace hotplate::scan
