// Small matrices, a warp to each, in its shared memory: a library's call for every matrix takes longer than the numbers
// of a small one do, and of a stack there are many. A kernel's block is one warp, and a lane has a row. For .cu files.
#pragma once

#include "kernels/cuda/launch.h"

namespace hotplate::small_matrices {

// Rows, and columns, of the largest.
constexpr unsigned kMost = 32;
constexpr int kWarp = 32;

inline bool AreSmall(std::uint64_t rows, std::uint64_t columns) { return rows <= kMost && columns <= kMost; }

// One column more than there are, so that a column's elements lie in different banks.
template <typename T>
using Tile = T[kMost][kMost + 1];

// Blocks for so many matrices; each takes every so-manieth.
inline std::uint64_t GridFor(std::uint64_t matrices) {
  constexpr std::uint64_t kMostBlocks = 1 << 16;
  return matrices < kMostBlocks ? matrices : kMostBlocks;
}

// tile[i][j] = element(i, j), read row by row. By all lanes, as what follows.
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

}  // namespace hotplate::small_matrices
