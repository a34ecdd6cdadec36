// Folds a value of each thread of a block, in the order of the threads: each learns the fold of those before it.
#pragma once

#include "kernels/devices/cuda/code/launch.h"

namespace hotplate {

template <typename T>
struct BlockFold {
  T before;  // of the threads before this one
  T whole;
};

struct Plus {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

// Called by all kBlockSize threads of a block. `nothing`: changes nothing when it is folded.
template <typename T, typename Fold = Plus>
__device__ BlockFold<T> FoldBlock(T mine, T nothing, Fold fold = {}) {
  __shared__ T folded[kBlockSize];
  folded[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned distance = 1; distance < kBlockSize; distance *= 2) {
    const T before = threadIdx.x >= distance ? folded[threadIdx.x - distance] : nothing;
    __syncthreads();
    folded[threadIdx.x] = fold(before, folded[threadIdx.x]);
    __syncthreads();
  }
  const BlockFold<T> result{threadIdx.x == 0 ? nothing : folded[threadIdx.x - 1], folded[kBlockSize - 1]};
  __syncthreads();
  return result;
}

// The same for `count` totals in memory, `stride` apart: each becomes what comes before it. Returns the whole.
template <typename T, typename Fold = Plus>
__device__ T FoldTotals(T* totals, std::uint64_t count, std::uint64_t stride, T nothing, Fold fold = {}) {
  const std::uint64_t share = count / kBlockSize + 1;
  const std::uint64_t begin = min(threadIdx.x * share, count), end = min(begin + share, count);
  T mine = nothing;
  for (std::uint64_t i = begin; i < end; ++i) mine = fold(mine, totals[i * stride]);
  const BlockFold<T> folded = FoldBlock(mine, nothing, fold);
  T before = folded.before;
  for (std::uint64_t i = begin; i < end; ++i) {
    const T total = totals[i * stride];
    totals[i * stride] = before;
    before = fold(before, total);
  }
  return folded.whole;
}

// By one block: each of these totals becomes the sum of those before it, and *all that of all.
template <typename T>
__global__ void __launch_bounds__(kBlockSize) SumTotals(T* totals, std::uint64_t count, std::uint64_t* all) {
  const T whole = FoldTotals(totals, count, 1, T{0});
  if (threadIdx.x == 0) *all = whole;
}

}  // namespace hotplate
