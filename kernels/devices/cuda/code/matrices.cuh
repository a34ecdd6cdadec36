// Device code shared by the kernels of dense linear algebra: copies that look for NaN, transposes, and the library's
// info values, brought to the host. For .cu files.
#pragma once

#include <functional>

#include "kernels/devices/cuda/code/launch.h"
#include "kernels/families/matrix_stack.h"

namespace hotplate::matrices {

enum class Part { kWhole, kLower };

// The value, or 0 if it is not finite, on which a library's iteration might never end. Then sets the flag to 1; all
// threads that write it write the same. If the flag is null, returns the value unchanged.
template <typename T>
__device__ __forceinline__ T Checked(T value, int* flag) {
  if (flag == nullptr || value * T{0} == T{0}) return value;
  *flag = 1;
  return T{0};
}

// Rows of a matrix, a stack of them one below the other: all of it, or on and below the diagonal, with zeros above.
// `flags`, or null: Checked's, one for each matrix.
template <typename T>
__global__ void __launch_bounds__(kBlockSize) CopyRows(const T* from, T* to, std::uint64_t elements, std::uint64_t rows,
                                                       std::uint64_t columns, Part part, int* flags) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; i < elements; i += stride) {
    const bool inside = part == Part::kWhole || i % columns <= i / columns % rows;
    to[i] = Checked(inside ? from[i] : T{0}, flags == nullptr ? nullptr : flags + i / (rows * columns));
  }
}

// to[j, i] = from[i, j], for each of a stack. `flags` as above.
template <typename T>
__global__ void __launch_bounds__(kBlockSize)
    TransposeAll(const T* from, T* to, std::uint64_t count, std::uint64_t rows, std::uint64_t columns, int* flags) {
  constexpr unsigned kTile = 32, kAtATime = kBlockSize / kTile;
  __shared__ T tile[kTile][kTile + 1];
  const std::uint64_t down = (rows + kTile - 1) / kTile, across = (columns + kTile - 1) / kTile;
  const unsigned x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  for (std::uint64_t at = blockIdx.x; at < count * down * across; at += gridDim.x) {
    const std::uint64_t matrix = at / (down * across), first = matrix * rows * columns;
    const std::uint64_t top = at / across % down * kTile, left = at % across * kTile;
    for (unsigned i = y; i < kTile; i += kAtATime) {
      if (top + i >= rows || left + x >= columns) continue;
      tile[i][x] = Checked(from[first + (top + i) * columns + left + x], flags == nullptr ? nullptr : flags + matrix);
    }
    __syncthreads();
    for (unsigned i = y; i < kTile; i += kAtATime) {
      if (left + i < columns && top + x < rows) to[first + (left + i) * rows + top + x] = tile[x][i];
    }
    __syncthreads();
  }
}

// The result of a stack: the first matrix that is not finite and the first with an info value, each as the number of
// matrices from it to the end (0: none); and that info value.
struct Verdict {
  unsigned long long not_finite, troubled, info;
};

// The verdict is 0 before. (Templates only so that several files may have them.)
template <typename Int>
__global__ void __launch_bounds__(kBlockSize)
    Judge(const Int* flags, const Int* infos, std::uint64_t count, Verdict* verdict) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; i < count; i += stride) {
    const auto to_the_end = static_cast<unsigned long long>(count - i);
    if (flags[i] != 0) atomicMax(&verdict->not_finite, to_the_end);
    if (infos[i] != 0) atomicMax(&verdict->troubled, to_the_end);
  }
}

template <typename Int>
__global__ void __launch_bounds__(1) TakeInfo(const Int* infos, std::uint64_t count, Verdict* verdict) {
  if (verdict->troubled == 0) return;
  verdict->info = static_cast<unsigned long long>(static_cast<long long>(infos[count - verdict->troubled]));
}

// The device's part of a stack's bookkeeping, at the start of a kernel's scratch.
struct Marks {
  int* flags = nullptr;
  int* infos = nullptr;
  int* spare = nullptr;  // an info that nobody reads
  Verdict* verdict = nullptr;
};

inline std::uint64_t MarksBytes(const MatrixStack& stack) {
  return RoundUp(sizeof(Verdict), kArenaAlignment) + RoundUp((2 * stack.count + 1) * sizeof(int), kArenaAlignment);
}

// All of them 0.
inline Outcome ClearMarks(const MatrixStack& stack, std::byte* memory, CudaContext& context, Marks& marks) {
  marks.verdict = reinterpret_cast<Verdict*>(memory);
  marks.flags = reinterpret_cast<int*>(memory + RoundUp(sizeof(Verdict), kArenaAlignment));
  marks.infos = marks.flags + stack.count;
  marks.spare = marks.infos + stack.count;
  return ToOutcome(cudaMemsetAsync(memory, 0, MarksBytes(stack), context.stream()), "memset");
}

// Copies `count` matrices of the stack's size.
template <typename T>
Outcome Copy(const MatrixStack& stack, std::uint64_t count, const T* from, T* to, Part part, int* flags,
             CudaContext& context) {
  const std::uint64_t elements = count * stack.elements();
  if (elements == 0) return Outcome::Ok();
  return Launch(context, CopyRows<T>, GridFor(elements, 4), kBlockSize, from, to, elements, stack.rows, stack.columns,
                part, flags);
}

// Transposes `count` matrices [rows, columns].
template <typename T>
Outcome Transpose(std::uint64_t count, std::uint64_t rows, std::uint64_t columns, const T* from, T* to,
                  CudaContext& context, int* flags = nullptr) {
  if (count * rows * columns == 0) return Outcome::Ok();
  const std::uint64_t tiles = count * CeilDiv(rows, 32) * CeilDiv(columns, 32);
  return Launch(context, TransposeAll<T>, GridFor(tiles, 1, 1), kBlockSize, from, to, count, rows, columns, flags);
}

// Enqueues the marks' way to the host; Told reads them there when the stream is over. Not for a stack without elements.
inline Outcome Tell(const MatrixStack& stack, const Marks& marks, CudaContext& context) {
  const Outcome judged = Launch(context, Judge<int>, GridFor(stack.count, 4), kBlockSize, marks.flags, marks.infos,
                                stack.count, marks.verdict);
  if (!judged.ok()) return judged;
  const Outcome taken = Launch(context, TakeInfo<int>, 1, 1, marks.infos, stack.count, marks.verdict);
  if (!taken.ok()) return taken;
  void* const words = const_cast<std::uint64_t*>(context.host_words());
  return ToOutcome(cudaMemcpyAsync(words, marks.verdict, sizeof(Verdict), cudaMemcpyDeviceToHost, context.stream()),
                   "telling what became of the matrices");
}

// Names the first bad matrix. `explain` explains an info above 0; it is called with the matrix's trouble and the info.
template <typename Explain>
Outcome Told(const MatrixStack& stack, CudaContext& context, const Explain& explain) {
  if (stack.empty()) return Outcome::Ok();  // nothing was enqueued
  const std::uint64_t not_finite = context.host_words()[0], troubled = context.host_words()[1];
  const auto info = static_cast<std::int64_t>(context.host_words()[2]);
  if (not_finite != 0 && not_finite >= troubled) return MatrixTrouble(stack, stack.count - not_finite).NotFinite();
  if (troubled == 0) return Outcome::Ok();
  const MatrixTrouble trouble(stack, stack.count - troubled);
  return info < 0 ? trouble.Refused(info) : std::invoke(explain, trouble, info);
}

}  // namespace hotplate::matrices
