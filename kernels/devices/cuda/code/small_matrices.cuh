// Small matrices, a warp to each, in its shared memory: a library's call for every matrix takes longer than the numbers
// of a small one do, and of a stack there are many. A kernel's block is one warp, and a lane has a row. For .cu files.
#pragma once

#include "kernels/devices/cuda/code/launch.h"

namespace hotplate::small_matrices {

// Rows, and columns, of the largest.
constexpr unsigned kMost = 32;
constexpr int kWarp = 32;

inline bool AreSmall(std::uint64_t rows, std::uint64_t columns) { return rows <= kMost && columns <= kMost; }

// One column more than there are, so that a column's elements lie in different banks.
template <typename T>
using Tile = T[kMost][kMost + 1];

// Blocks for this many matrices; each block takes some.
inline std::uint64_t GridFor(std::uint64_t matrices) {
  constexpr std::uint64_t kMostBlocks = 1 << 16;
  return matrices < kMostBlocks ? matrices : kMostBlocks;
}

// tile[i][j] = element(i, j), read row by row. Called by all lanes, like the functions below.
template <typename T, typename Element>
__device__ __forceinline__ void Load(Tile<T>& tile, unsigned rows, unsigned columns, const Element& element) {
  for (unsigned i = 0; i < rows; ++i) {
    if (threadIdx.x < columns) tile[i][threadIdx.x] = element(i, threadIdx.x);
  }
  __syncthreads();
}

// Waits for the lanes, and has them wait until all of it is read.
template <typename T>
__device__ __forceinline__ void Store(const Tile<T>& tile, unsigned rows, unsigned columns, T* to, std::uint64_t step) {
  __syncthreads();
  for (unsigned i = 0; i < rows; ++i) {
    if (threadIdx.x < columns) to[i * step + threadIdx.x] = tile[i][threadIdx.x];
  }
  __syncthreads();
}

// Scales the tile by a power of two, exactly, so that its largest element is between 1 and 2 and no product of two is
// too large. Of a tile of zeros it is 1. Returns the power's exponent, by which results are to be scaled back.
template <typename T>
__device__ __forceinline__ int ScaleToOne(Tile<T>& tile, unsigned rows, unsigned columns) {
  T largest{0};
  for (unsigned i = 0; i < rows; ++i) {
    for (unsigned j = 0; j < columns; ++j) largest = fmax(largest, fabs(tile[i][j]));
  }
  const int exponent = largest == T{0} ? 0 : ilogb(largest);
  __syncthreads();
  for (unsigned j = 0; j < columns && threadIdx.x < rows; ++j) {
    tile[threadIdx.x][j] = scalbn(tile[threadIdx.x][j], -exponent);
  }
  __syncthreads();
  return exponent;
}

// Jacobi's rotation: of (x, y) it makes (cosine x - sine y, sine x + cosine y).
template <typename T>
struct Rotation {
  T tangent, cosine, sine;

  // Turns the symmetric matrix [first, both; both, second] into a diagonal one, by 45 degrees at most. both is not 0.
  __device__ __forceinline__ Rotation(T first, T second, T both) {
    const T cotangent = (second - first) / (2 * both);  // of twice the angle
    tangent = (cotangent < T{0} ? T{-1} : T{1}) / (fabs(cotangent) + hypot(cotangent, T{1}));
    cosine = 1 / sqrt(tangent * tangent + 1);
    sine = tangent * cosine;
  }
  __device__ __forceinline__ void Turn(T& x, T& y) const {
    const T before = x;
    x = cosine * before - sine * y;
    y = sine * before + cosine * y;
  }
};

}  // namespace hotplate::small_matrices
