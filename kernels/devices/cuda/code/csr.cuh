// Looking at sparse matrices on the device, before anything is read that they point to. For .cu files.
#pragma once

#include <cstdint>

#include "kernels/devices/cuda/code/launch.h"
#include "kernels/families/csr.h"

namespace hotplate::csr {

// Items of the matrix (csr.h) that a block has at once, and each of its threads.
inline constexpr unsigned kOfThread = 8;
inline constexpr std::uint64_t kItems = kOfThread * kBlockSize;

inline constexpr unsigned long long kNone = ~0ull;

// Findings of the checks, at the start of a kernel's scratch.
struct Findings {
  unsigned long long indptr;  // the first bad element of indptr
  unsigned long long piece;   // the first piece of kItems with a bad entry
  Defect first;
};

inline constexpr std::uint64_t kFindingsBytes = RoundUp(sizeof(Findings), kArenaAlignment);
static_assert(sizeof(Defect) <= 8 * sizeof(std::uint64_t), "has room in a lane's host words");

inline std::uint64_t PiecesOf(std::uint64_t items) { return CeilDiv(items, kItems); }

template <typename Index>
__global__ void __launch_bounds__(kBlockSize) LookAtIndptr(Matrix<Index> matrix, Findings* findings) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; i <= matrix.rows; i += stride) {
    if (DefectOfIndptr(matrix, i).wrong != Wrong::kNothing) {
      atomicMin(&findings->indptr, static_cast<unsigned long long>(i));
      return;
    }
  }
}

// rows[i]: the row where piece i begins; one more, where the last ends. Nothing is done with a bad indptr.
template <typename Index>
__global__ void __launch_bounds__(kBlockSize)
    FindPieces(Matrix<Index> matrix, const Findings* findings, std::uint64_t pieces, std::uint64_t* rows) {
  if (findings->indptr != kNone) return;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize, items = ItemsOf(matrix);
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; i <= pieces; i += stride) {
    const std::uint64_t item = i * kItems;
    rows[i] = PlaceOf(matrix, item < items ? item : items).row;
  }
}

// Where piece i begins, or the last ends.
template <typename Index>
__device__ __forceinline__ Place PieceAt(const Matrix<Index>& matrix, const std::uint64_t* rows, std::uint64_t i) {
  const std::uint64_t item = i * kItems, items = ItemsOf(matrix);
  return {rows[i], (item < items ? item : items) - rows[i]};
}

// The sum over the warp's threads, in its first.
template <typename T>
__device__ __forceinline__ T SumOfWarp(T sum) {
  for (unsigned offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  return sum;
}

// Calls take(columns, good) with the thread's entries of a piece, and records bad ones. columns[u] is the column of the
// piece's entry threadIdx.x + u * kBlockSize; bit u of good says that the entry exists and its column is one of the
// matrix's. All threads of the block call it; when one returns, all have taken their entries.
template <typename Index, typename Take>
__device__ __forceinline__ void TakeEntries(const Matrix<Index>& matrix, std::uint64_t piece, const Place& begin,
                                            const Place& end, Findings* findings, const Take& take) {
  __shared__ int wrong_in_block;
  if (threadIdx.x == 0) wrong_in_block = 0;
  int wrong = 0;
  // All are loaded before the first is looked at.
  Index columns[kOfThread] = {}, before[kOfThread] = {};
#pragma unroll
  for (unsigned u = 0; u < kOfThread; ++u) {
    const std::uint64_t i = begin.entry + threadIdx.x + u * kBlockSize;
    if (i < end.entry) columns[u] = matrix.indices[i];
    if (i < end.entry && i > 0) before[u] = matrix.indices[i - 1];
  }
  unsigned good = 0;
#pragma unroll
  for (unsigned u = 0; u < kOfThread; ++u) {
    const bool there = begin.entry + threadIdx.x + u * kBlockSize < end.entry;
    const bool is_column = columns[u] >= 0 && static_cast<std::uint64_t>(columns[u]) < matrix.columns;
    good |= static_cast<unsigned>(there && is_column) << u;
    if (there && !is_column) ++wrong;
    if (there && columns[u] < before[u]) ++wrong;
  }
  take(columns, good);
  // Indices may descend from each row to the next, and nowhere else.
  for (std::uint64_t row = begin.row + threadIdx.x; row <= end.row && row < matrix.rows; row += kBlockSize) {
    const auto first = static_cast<std::uint64_t>(matrix.indptr[row]);
    const bool has_entries = matrix.indptr[row] != matrix.indptr[row + 1];
    if (!has_entries || first == 0 || first < begin.entry || first >= end.entry) continue;
    if (matrix.indices[first] < matrix.indices[first - 1]) --wrong;
  }
  wrong = SumOfWarp(wrong);
  __syncthreads();
  if (threadIdx.x % 32 == 0 && wrong != 0) atomicAdd(&wrong_in_block, wrong);
  __syncthreads();
  if (threadIdx.x == 0 && wrong_in_block != 0) {
    atomicMin(&findings->piece, static_cast<unsigned long long>(piece));
  }
}

template <typename Index>
__global__ void __launch_bounds__(1) FindFirst(Matrix<Index> matrix, Findings* findings) {
  Defect first;
  if (findings->indptr != kNone) {
    first = DefectOfIndptr(matrix, findings->indptr);
  } else if (findings->piece != kNone) {
    const std::uint64_t item = findings->piece * kItems, items = ItemsOf(matrix);
    first = FirstDefectOfEntries(matrix, PlaceOf(matrix, item).entry,
                                 PlaceOf(matrix, items - item < kItems ? items : item + kItems).entry);
  }
  findings->first = first;
}

// Enqueues the check of indptr, and finds where pieces begin (`rows`: PiecesOf + 1). Kernels that rely on indptr must
// first look at findings->indptr.
template <typename Index>
Outcome Begin(const Matrix<Index>& matrix, Findings* findings, std::uint64_t* rows, CudaContext& context) {
  const Outcome cleared =
      hotplate::ToOutcome(cudaMemsetAsync(findings, 0xFF, kFindingsBytes, context.stream()), "memset");
  if (!cleared.ok()) return cleared;
  const Outcome looked =
      Launch(context, LookAtIndptr<Index>, GridFor(matrix.rows + 1, 4), kBlockSize, matrix, findings);
  if (!looked.ok()) return looked;
  const std::uint64_t pieces = PiecesOf(ItemsOf(matrix));
  return Launch(context, FindPieces<Index>, GridFor(pieces + 1), kBlockSize, matrix, findings, pieces, rows);
}

// Enqueues the way of the first defect to the host; Told reads it there when the stream is over.
template <typename Index>
Outcome Tell(const Matrix<Index>& matrix, Findings* findings, CudaContext& context) {
  const Outcome found = Launch(context, FindFirst<Index>, 1, 1, matrix, findings);
  if (!found.ok()) return found;
  void* const words = const_cast<std::uint64_t*>(context.host_words());
  return hotplate::ToOutcome(
      cudaMemcpyAsync(words, &findings->first, sizeof(Defect), cudaMemcpyDeviceToHost, context.stream()),
      "telling what is wrong with the matrix");
}

inline Defect Told(CudaContext& context) {
  const volatile std::uint64_t* const words = context.host_words();
  return {static_cast<Wrong>(words[0]), words[1], words[2], static_cast<std::int64_t>(words[3]),
          static_cast<std::int64_t>(words[4])};
}

}  // namespace hotplate::csr
