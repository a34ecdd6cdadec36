// How the CUDA kernels of integrate2d cut their work, and the sines of the fast one. Plain code, tested without a GPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/call/call.h"
#include "kernels/call/host_device.h"
#include "kernels/devices/cuda/code/grid.h"
#include "kernels/devices/cuda/code/traits.h"

namespace hotplate::integrate2d {

// The fast variant measures angles in half turns: sin(pi * s). Reducing s is the subtraction of a whole number then,
// which is exact.

// The midpoint of cell `index` of `n` between `low` and `high`, in half turns, reduced to [-1, 1].
HOTPLATE_HOST_DEVICE inline float HalfTurns(std::int64_t index, std::int64_t n, double low, double high) {
  constexpr double kPerPi = 0.31830988618379067;
  const double x = low + (static_cast<double>(index) + 0.5) * ((high - low) / static_cast<double>(n));
  const double turns = x * kPerPi;
  return static_cast<float>(turns - 2 * rint(turns / 2));
}

// sin(pi r) / r as a function of r * r: the minimax polynomial for |r| <= kReach, 8e-9 away at most.
inline constexpr float kReach = 0.5f + 1.0f / 64;
HOTPLATE_HOST_DEVICE inline float SineOverAngle(float r_squared) {
  float p = fmaf(0.076454863f, r_squared, -0.597631991f);
  p = fmaf(p, r_squared, 2.54995823f);
  p = fmaf(p, r_squared, -5.1677022f);
  return fmaf(p, r_squared, 3.1415925f);
}

// s for |s| <= 2, reduced to [-0.5, 0.5] with the sine's sign: sin(pi * s) = sin(pi * Reduce(s)).
struct Reduce {
  HOTPLATE_HOST_DEVICE float operator()(float s) const {
    constexpr float kRound = 12'582'912;  // 1.5 * 2^23: adding it leaves the nearest integer in the lowest bits
    const float shifted = s + kRound;
    float r = s - (shifted - kRound);
    std::uint32_t bits, half_turns;
    std::memcpy(&bits, &r, sizeof bits);
    std::memcpy(&half_turns, &shifted, sizeof half_turns);
    bits ^= half_turns << 31;  // an odd number of half turns changes the sign
    std::memcpy(&r, &bits, sizeof r);
    return r;
  }
};
// For coordinates of a tile that were reduced together.
struct IsReduced {
  HOTPLATE_HOST_DEVICE float operator()(float s) const { return s; }
};

template <typename Reduction>
HOTPLATE_HOST_DEVICE inline float Sine(float s, Reduction reduce) {
  const float r = reduce(s);
  return r * SineOverAngle(r * r);
}

// The sum of kCount sines sin(pi * (x + y[i])), each evaluated, added in pairs: log2(kCount) roundings to float32, each
// at most 2^-24 of a partial sum.
template <int kCount, typename Reduction>
HOTPLATE_HOST_DEVICE inline float PairwiseSines(float x, const float* y, Reduction reduce) {
  if constexpr (kCount == 2) {
    const float r = reduce(x + y[0]);
    return fmaf(r, SineOverAngle(r * r), Sine(x + y[1], reduce));
  } else {
    return PairwiseSines<kCount / 2>(x, y, reduce) + PairwiseSines<kCount / 2>(x, y + kCount / 2, reduce);
  }
}

// Where all angles of a tile lie within the same half turn, as in nearly every tile of a fine grid, the reduction is
// the tile's and not the point's: half of the instructions. sin(pi * (x + y)) = sin(pi * (OfX(x) + OfY(y))), and that
// sum needs no further reduction.
struct SharedHalfTurn {
  bool shared = false;
  float centre = 0;      // of the x
  float half_turns = 0;  // an integer
  float sign = 1;

  HOTPLATE_HOST_DEVICE float OfX(float x) const { return sign * (x - centre); }
  // The sum's rounding error is added again.
  HOTPLATE_HOST_DEVICE float OfY(float y) const {
    const float sum = y + centre, part = sum - y;
    const float error = (y - (sum - part)) + (centre - part);
    return sign * ((sum - half_turns) + error);
  }
};

// For a tile from its first and last coordinates. `narrow`: a tile is too narrow to go round.
HOTPLATE_HOST_DEVICE inline SharedHalfTurn HalfTurnOf(float x_first, float x_last, float y_first, float y_last,
                                                      bool narrow) {
  SharedHalfTurn turn;
  // Further apart: the coordinates' own reduction lies between them.
  if (!narrow || fabsf(x_last - x_first) > 0.5f || fabsf(y_last - y_first) > 0.5f) return turn;
  const float low = fminf(x_first, x_last) + fminf(y_first, y_last);
  const float high = fmaxf(x_first, x_last) + fmaxf(y_first, y_last);
  const float half_turns = rintf(0.5f * (low + high));
  turn.shared = low - half_turns >= -kReach && high - half_turns <= kReach;
  turn.centre = x_first;
  turn.half_turns = half_turns;
  turn.sign = half_turns == 1 || half_turns == -1 ? -1.0f : 1.0f;
  return turn;
}

// The fast variant: tiles of kTileX by kTileY points. A thread has kTileX / kBlockSize columns of a tile.
inline constexpr int kColumns = 2;
inline constexpr int kTileX = kColumns * kBlockSize;
inline constexpr int kTileY = 256;
inline constexpr int kGroup = 16;  // sines between two additions in float64

struct Tiles {
  std::uint64_t n = 1;

  HOTPLATE_HOST_DEVICE std::uint64_t across() const { return (n + kTileX - 1) / kTileX; }
  HOTPLATE_HOST_DEVICE std::uint64_t down() const { return (n + kTileY - 1) / kTileY; }
  HOTPLATE_HOST_DEVICE std::uint64_t count() const { return across() * down(); }
  HOTPLATE_HOST_DEVICE std::uint64_t FirstX(std::uint64_t tile) const { return tile % across() * kTileX; }
  HOTPLATE_HOST_DEVICE std::uint64_t FirstY(std::uint64_t tile) const { return tile / across() * kTileY; }
  // Rows and columns of the tile that lie in the square: the last tiles may have fewer.
  HOTPLATE_HOST_DEVICE int Rows(std::uint64_t tile) const {
    const std::uint64_t left = n - FirstY(tile);
    return left < kTileY ? static_cast<int>(left) : kTileY;
  }
  HOTPLATE_HOST_DEVICE int Columns(std::uint64_t tile) const {
    const std::uint64_t left = n - FirstX(tile);
    return left < kTileX ? static_cast<int>(left) : kTileX;
  }
};

// The time for a chunk by the device's estimated rates. The spec's bound on cancelling still holds if the estimates are
// wrong by a factor of four.
inline constexpr double kChunkMs = 30;

// As many blocks as every supported device holds at the same time: 1024 threads to a multiprocessor.
inline constexpr int kBlocksPerMultiprocessor = 1024 / kBlockSize;
inline std::uint64_t FastBlocks(const Tiles& tiles, const CudaTraits& traits) {
  return std::min<std::uint64_t>(tiles.count(), static_cast<std::uint64_t>(kBlocksPerMultiprocessor) *
                                                    static_cast<std::uint64_t>(traits.multiprocessors));
}

// Chunks of tiles, the same number for each block.
inline Chunks FastChunks(const Tiles& tiles, const CudaTraits& traits) {
  constexpr double kOperations = 20;  // a point
  const std::uint64_t blocks = FastBlocks(tiles, traits);
  Chunks chunks =
      ChunksWithin(tiles.count(), kOperations * kTileX * kTileY, traits.float_operations_per_ms, kChunkMs, blocks);
  if (chunks.size < chunks.total) chunks.size -= chunks.size % blocks;
  return chunks;
}

// Whether a tile spans less than a quarter of a half turn each way.
inline bool Narrow(std::uint64_t n, double x_min, double x_max, double y_min, double y_max) {
  const double cells = static_cast<double>(n), limit = 0.25 * 3.14159;
  return std::abs(x_max - x_min) / cells * kTileX < limit && std::abs(y_max - y_min) / cells * kTileY < limit;
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
