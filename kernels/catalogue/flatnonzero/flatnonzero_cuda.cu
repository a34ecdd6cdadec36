// Each tile's positions are counted, then written behind those of the tiles before it. Scratch: the counts, and their
// sum.
#include "kernels/catalogue/flatnonzero/flatnonzero.h"
#include "kernels/catalogue/flatnonzero/flatnonzero_elements.h"
#include "kernels/devices/cuda/code/block_fold.cuh"
#include "kernels/devices/cuda/code/read_word.cuh"
#include "kernels/devices/cuda/code/traits.h"
#include "kernels/families/axis.h"

namespace hotplate::flatnonzero {
namespace {

constexpr std::uint64_t kSteps = 16, kTile = kSteps * kBlockSize;

template <typename Elements>
__global__ void __launch_bounds__(kBlockSize) CountTiles(Elements is_nonzero, std::uint64_t n, std::uint64_t* tiles) {
  for (std::uint64_t tile = blockIdx.x; tile * kTile < n; tile += gridDim.x) {
    std::uint64_t mine = 0;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      const std::uint64_t i = tile * kTile + step * kBlockSize + threadIdx.x;
      if (i < n && is_nonzero(i)) ++mine;
    }
    const std::uint64_t count = FoldBlock(mine, std::uint64_t{0}).whole;
    if (threadIdx.x == 0) tiles[tile] = count;
  }
}

template <typename Elements>
__global__ void __launch_bounds__(kBlockSize)
    WritePositions(Elements is_nonzero, std::uint64_t n, const std::uint64_t* tiles, std::int64_t* positions) {
  for (std::uint64_t tile = blockIdx.x; tile * kTile < n; tile += gridDim.x) {
    std::uint64_t next = tiles[tile];
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      const std::uint64_t i = tile * kTile + step * kBlockSize + threadIdx.x;
      const bool found = i < n && is_nonzero(i);
      const auto count = FoldBlock(std::uint32_t{found}, std::uint32_t{0});
      if (found) positions[next + count.before] = static_cast<std::int64_t>(i);
      next += count.whole;
    }
  }
}

std::uint64_t TileBytes(std::uint64_t n) { return CeilDiv(n, kTile) * sizeof(std::uint64_t); }

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  return TileBytes(ExtentOf(call.InputArray("x"), "all").count) + sizeof(std::uint64_t);
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  const hotplate_array& x = call.InputArray("x");
  const std::uint64_t n = ExtentOf(x, "all").count;
  if (n == 0) {
    call.SetSize("positions", 0);
    return Outcome::Ok();
  }
  std::uint64_t* const tiles = reinterpret_cast<std::uint64_t*>(call.scratch().data());
  std::uint64_t* const all = reinterpret_cast<std::uint64_t*>(call.scratch().data() + TileBytes(n));
  std::int64_t* const positions = call.Output<std::int64_t>("positions").data();
  const unsigned grid = GridFor(n, kSteps);
  const Outcome written = WithElements(x, [&](const auto& is_nonzero) {
    using Elements = std::decay_t<decltype(is_nonzero)>;
    if (const Outcome o = Launch(context, CountTiles<Elements>, grid, kBlockSize, is_nonzero, n, tiles); !o.ok()) {
      return o;
    }
    if (const Outcome o = Launch(context, SumTotals<std::uint64_t>, 1, kBlockSize, tiles, CeilDiv(n, kTile), all);
        !o.ok())
      return o;
    return Launch(context, WritePositions<Elements>, grid, kBlockSize, is_nonzero, n, tiles, positions);
  });
  if (!written.ok()) return written;
  std::uint64_t found = 0;
  if (const Outcome o = ReadWord(context, all, "copy of the number of positions", found); !o.ok()) return o;
  call.SetSize("positions", found);
  return Outcome::Ok();
}

}  // namespace hotplate::flatnonzero
