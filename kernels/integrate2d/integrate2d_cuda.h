// How the CUDA kernels of integrate2d cut their work, and the sine of the fast one. Plain code, tested without a GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/call.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/traits.h"
#include "kernels/host_device.h"

namespace hotplate::integrate2d {

// sin(s) for |s| <= 2 pi: one reduction to [-pi/2, pi/2], then an odd polynomial of degree 9 (the minimax one there,
// 2e-8 away at most). Absolute error below 2e-7; about twelve instructions without a branch.
HOTPLATE_HOST_DEVICE inline float Sine(float s) {
  constexpr float kPerPi = 0.318309886f, kPiHigh = 3.14159274f, kPiLow = -8.74227766e-8f;
  constexpr float kRound = 12'582'912;  // 1.5 * 2^23: adding it leaves the nearest integer in the lowest bits
  const float shifted = fmaf(s, kPerPi, kRound);
  const float half_turns = shifted - kRound;
  float r = fmaf(-half_turns, kPiHigh, s);
  r = fmaf(-half_turns, kPiLow, r);
  // An odd number of half turns changes the sign.
#ifdef __CUDA_ARCH__
  r = __uint_as_float(__float_as_uint(r) ^ (__float_as_uint(shifted) << 31));
#else
  std::uint32_t bits, turns;
  std::memcpy(&bits, &r, sizeof bits);
  std::memcpy(&turns, &shifted, sizeof turns);
  bits ^= turns << 31;
  std::memcpy(&r, &bits, sizeof r);
#endif
  const float r2 = r * r;
  float p = fmaf(2.60005481e-6f, r2, -1.98066147e-4f);
  p = fmaf(p, r2, 8.33301712e-3f);
  p = fmaf(p, r2, -1.66666567e-1f);
  return fmaf(r * r2, p, r);
}

// The sum of kCount sines sin(x + y[i]), each evaluated, added in pairs: log2(kCount) roundings to float32, each at
// most 2^-24 of a partial sum.
template <int kCount>
HOTPLATE_HOST_DEVICE inline float PairwiseSines(float x, const float* y) {
  if constexpr (kCount == 1) {
    return Sine(x + y[0]);
  } else {
    return PairwiseSines<kCount / 2>(x, y) + PairwiseSines<kCount / 2>(x, y + kCount / 2);
  }
}

// The fast variant: tiles of kTileX by kTileY points. A thread has kTileX / kBlockSize columns of a tile.
inline constexpr int kColumns = 2;
inline constexpr int kTileX = kColumns * kBlockSize;
inline constexpr int kTileY = 128;
inline constexpr int kGroup = 16;  // sines between two additions in float64

struct Tiles {
  std::uint64_t n = 1;

  HOTPLATE_HOST_DEVICE std::uint64_t across() const { return (n + kTileX - 1) / kTileX; }
  HOTPLATE_HOST_DEVICE std::uint64_t down() const { return (n + kTileY - 1) / kTileY; }
  HOTPLATE_HOST_DEVICE std::uint64_t count() const { return across() * down(); }
  HOTPLATE_HOST_DEVICE std::uint64_t FirstX(std::uint64_t tile) const { return tile % across() * kTileX; }
  HOTPLATE_HOST_DEVICE std::uint64_t FirstY(std::uint64_t tile) const { return tile / across() * kTileY; }
  // Rows of the tile that lie in the square: the last tiles may have fewer.
  HOTPLATE_HOST_DEVICE int Rows(std::uint64_t tile) const {
    const std::uint64_t left = n - FirstY(tile);
    return left < kTileY ? static_cast<int>(left) : kTileY;
  }
};

// What a chunk may take by the device's estimated rates; the estimates may be wrong by a factor of four before the
// spec's bound on cancelling is missed.
inline constexpr double kChunkMs = 30;

inline std::uint64_t FastBlocks(const Tiles& tiles, const CudaTraits& traits) {
  return std::min<std::uint64_t>(tiles.count(), 8 * static_cast<std::uint64_t>(traits.multiprocessors));
}

// Chunks of tiles.
inline Chunks FastChunks(const Tiles& tiles, const CudaTraits& traits) {
  constexpr double kOperations = 20;  // a point
  return ChunksWithin(tiles.count(), kOperations * kTileX * kTileY, traits.float_operations_per_ms, kChunkMs,
                      FastBlocks(tiles, traits));
}

// Chunks of rows, for the variants with one thread to a column: the sine in float32, the sum in float64.
inline Chunks ColumnChunks(std::uint64_t n, const CudaTraits& traits) {
  constexpr double kFloatOperations = 40, kDoubleOperations = 2, kLatencyCycles = 200;  // a point
  const double columns = static_cast<double>(n);
  const double ms_per_row = columns * kFloatOperations / traits.float_operations_per_ms +
                            columns * kDoubleOperations / traits.double_operations_per_ms +
                            kLatencyCycles / traits.cycles_per_ms;
  return ChunksWithin(n, ms_per_row * 1e9, 1e9, kChunkMs, 1);
}

inline constexpr int kSharedBlock = 16;  // threads to a block of the shared variant

enum class Variant { kNaive, kShared, kFast };

// Offsets in the scratch: the reduced coordinates, and the partial sums.
struct ScratchLayout {
  std::uint64_t ys = 0, partials = 0, partial_count = 0, bytes = 0;
};

inline ScratchLayout LayOutScratch(std::uint64_t n, Variant variant, const CudaTraits& traits) {
  ScratchLayout layout;
  layout.ys = RoundUp(n * sizeof(float), kArenaAlignment);
  layout.partials = 2 * layout.ys;
  layout.partial_count = variant == Variant::kNaive    ? n
                         : variant == Variant::kShared ? CeilDiv(n, kSharedBlock)
                                                       : FastBlocks(Tiles{n}, traits);
  layout.bytes = layout.partials + layout.partial_count * sizeof(double);
  return layout;
}

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

}  // namespace hotplate::integrate2d
