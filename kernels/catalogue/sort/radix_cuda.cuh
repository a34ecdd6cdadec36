// The two sorts' device code: elements become keys, CUB sorts the keys, and results are fetched by them.
#pragma once

#include "kernels/catalogue/sort/radix_cuda.h"
#include "kernels/catalogue/sort/sort_order.h"
#include "kernels/devices/cuda/code/launch.h"

namespace hotplate::sort {

// Two buffers; `full` has the content. After a sort CUB says which one it is.
template <typename T>
struct Buffers {
  T* full = nullptr;
  T* spare = nullptr;
};

// Enqueue on the context's stream; stable; by the keys' lowest `bits` bits. In sort_cuda.cu, so that CUB is compiled
// once.
Outcome SortKeys(Buffers<std::uint32_t>& keys, std::uint64_t n, int bits, std::byte* scratch, const Scratch& layout,
                 CudaContext& context);
Outcome SortKeys(Buffers<std::uint64_t>& keys, std::uint64_t n, int bits, std::byte* scratch, const Scratch& layout,
                 CudaContext& context);
Outcome SortPairs(Buffers<std::uint32_t>& keys, Buffers<std::uint32_t>& indices, std::uint64_t n, int bits,
                  std::byte* scratch, const Scratch& layout, CudaContext& context);
Outcome SortPairs(Buffers<std::uint64_t>& keys, Buffers<std::uint32_t>& indices, std::uint64_t n, int bits,
                  std::byte* scratch, const Scratch& layout, CudaContext& context);

namespace device {

__device__ __forceinline__ std::uint64_t First() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ __forceinline__ std::uint64_t Stride() { return std::uint64_t{gridDim.x} * blockDim.x; }

// keys[i] = the key of the rows' element i, equal for -0 and 0 if `ties`; with i's row above it if `numbered`.
// indices[i] = i unless null.
template <typename T, typename K>
__global__ void MakeKeys(const T* x, K* keys, std::uint32_t* indices, Rows rows, bool numbered, Order<T> order,
                         bool ties) {
  for (std::uint64_t i = First(); i < rows.elements(); i += Stride()) {
    const T element = x[rows.Place(i)];
    K key = ties ? order.TieKeyOf(element) : order.KeyOf(element);
    if constexpr (sizeof(K) > sizeof(BitsOf<T>)) key |= numbered ? (i / rows.length) << 32 : 0;
    keys[i] = key;
    if (indices != nullptr) indices[i] = static_cast<std::uint32_t>(i);
  }
}

// y[i] = the element of the key in keys[i]'s lowest bits. y may be keys.
template <typename T, typename K>
__global__ void MakeElements(const K* keys, T* y, std::uint64_t n, Order<T> order) {
  for (std::uint64_t i = First(); i < n; i += Stride()) y[i] = order.ElementOf(static_cast<BitsOf<T>>(keys[i]));
}

template <typename T>
__global__ void MakeRows(const std::uint32_t* indices, T* rows, std::uint64_t n, std::uint64_t row_length) {
  for (std::uint64_t i = First(); i < n; i += Stride()) rows[i] = static_cast<T>(indices[i] / row_length);
}

template <typename T>
__global__ void FetchByIndex(const T* from, const std::uint32_t* indices, T* to, std::uint64_t n) {
  for (std::uint64_t i = First(); i < n; i += Stride()) to[i] = from[indices[i]];
}

// The same for sort, which keeps nothing of a NaN but that it is one.
template <typename T>
__global__ void FetchInOrder(const T* from, const std::uint32_t* indices, T* to, std::uint64_t n, Order<T> order) {
  for (std::uint64_t i = First(); i < n; i += Stride()) to[i] = order.ElementOf(order.KeyOf(from[indices[i]]));
}

}  // namespace device

template <typename T>
Outcome Fetch(const T* from, const std::uint32_t* indices, T* to, std::uint64_t n, CudaContext& context) {
  return Launch(context, device::FetchByIndex<T>, GridFor(n, 4), kBlockSize, from, indices, to, n);
}

// indices.full = where each element of the sorted rows comes from. Needs scratch as of LayOutPairs, or LayOutSort's for
// 64 bits.
template <typename T>
Outcome SortedIndices(const T* x, const Rows& rows, Order<T> order, bool ties, std::byte* scratch,
                      const Scratch& layout, Buffers<std::uint32_t>& indices, CudaContext& context) {
  const std::uint64_t n = rows.elements();
  indices = {.full = reinterpret_cast<std::uint32_t*>(scratch + layout.indices[0]),
             .spare = reinterpret_cast<std::uint32_t*>(scratch + layout.indices[1])};
  const unsigned grid = GridFor(n, 4);
  constexpr bool kWide = sizeof(BitsOf<T>) == 8;
  if constexpr (!kWide) {
    if (rows.count == 1) {
      Buffers<std::uint32_t> keys{reinterpret_cast<std::uint32_t*>(scratch + layout.keys[0]),
                                  reinterpret_cast<std::uint32_t*>(scratch + layout.keys[1])};
      const Outcome made = Launch(context, device::MakeKeys<T, std::uint32_t>, grid, kBlockSize, x, keys.full,
                                  indices.full, rows, false, order, ties);
      return made.ok() ? SortPairs(keys, indices, n, 32, scratch, layout, context) : made;
    }
  }
  Buffers<std::uint64_t> keys{reinterpret_cast<std::uint64_t*>(scratch + layout.keys[0]),
                              reinterpret_cast<std::uint64_t*>(scratch + layout.keys[1])};
  const Outcome made = Launch(context, device::MakeKeys<T, std::uint64_t>, grid, kBlockSize, x, keys.full, indices.full,
                              rows, !kWide, order, ties);
  if (!made.ok()) return made;
  const int bits = kWide ? 64 : 32 + rows.bits();
  const Outcome sorted = SortPairs(keys, indices, n, bits, scratch, layout, context);
  if (!sorted.ok() || !kWide || rows.count == 1) return sorted;
  // All keys are in order: within its row each has its place when they are sorted by row, which keeps that order.
  Buffers<std::uint32_t> row_numbers{reinterpret_cast<std::uint32_t*>(scratch + layout.keys[0]),
                                     reinterpret_cast<std::uint32_t*>(scratch + layout.keys[1])};
  const Outcome numbered = Launch(context, device::MakeRows<std::uint32_t>, grid, kBlockSize, indices.full,
                                  row_numbers.full, n, rows.length);
  return numbered.ok() ? SortPairs(row_numbers, indices, n, rows.bits(), scratch, layout, context) : numbered;
}

}  // namespace hotplate::sort
