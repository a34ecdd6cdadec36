// Copies of matrices for LAPACK, which works in place; and identities.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <utility>

#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/multiversion.h"

namespace hotplate {

// Calls body(begin, end) on ranges that cover [0, count), by all threads unless there is little to do: `work` elements
// in all. A range's border is any number, unlike ParallelFor's.
template <typename Body>
void ForRanges(CpuContext& context, std::size_t count, std::size_t work, const Body& body) {
  constexpr std::size_t kUnit = CpuContext::kRangeUnit;
  if (work < 65'536) return body(std::size_t{0}, count);
  context.ParallelFor(count * kUnit, 0, [&](std::size_t begin, std::size_t end) { body(begin / kUnit, end / kUnit); });
}

// Whether all that is copied is finite. A number times 0 is 0 unless it is a NaN or an infinity.
template <typename T>
HOTPLATE_INLINE bool CopyFinite(const T* from, T* to, std::size_t count) {
  T probe = 0;
#pragma omp simd reduction(+ : probe)
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = from[i];
    probe += from[i] * T{0};
  }
  return probe == 0;
}

// Copies the whole matrix, or the lower triangle of a square one; elements above the diagonal of `to` then become 0 if
// `clear`, else they stay. True if all copied elements are finite.
enum class Part { kWhole, kLower };
template <typename T>
bool CopyMatrix(CpuContext& context, const T* from, T* to, std::size_t rows, std::size_t columns, Part part,
                bool clear) {
  std::atomic<bool> finite{true};
  const auto copy = [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const std::size_t count = part == Part::kLower ? row + 1 : columns;
      T* const out = to + row * columns;
      if (!CopyFinite(from + row * columns, out, count)) finite.store(false, std::memory_order_relaxed);
      if (clear) std::fill(out + count, out + columns, T{0});
    }
  };
  ForRanges(context, rows, rows * columns, copy);
  return finite.load(std::memory_order_relaxed);
}

// to[j, i] = from[i, j], from being [rows, columns], in tiles that stay in cache. Whether all of it is finite.
template <typename T>
bool CopyTransposed(CpuContext& context, const T* from, T* to, std::size_t rows, std::size_t columns) {
  constexpr std::size_t kTile = 32;
  std::atomic<bool> finite{true};
  const auto copy = [&](std::size_t begin, std::size_t end) {
    T probe = 0;
    for (std::size_t left = begin * kTile; left < std::min(end * kTile, columns); left += kTile) {
      for (std::size_t top = 0; top < rows; top += kTile) {
        for (std::size_t j = left; j < std::min(left + kTile, columns); ++j) {
          for (std::size_t i = top; i < std::min(top + kTile, rows); ++i) {
            const T element = from[i * columns + j];
            probe += element * T{0};
            to[j * rows + i] = element;
          }
        }
      }
    }
    if (probe != T{0}) finite.store(false, std::memory_order_relaxed);
  };
  ForRanges(context, (columns + kTile - 1) / kTile, rows * columns, copy);
  return finite.load(std::memory_order_relaxed);
}

// In place, of a square matrix, in tiles that stay in cache.
template <typename T>
void TransposeSquare(CpuContext& context, T* matrix, std::size_t n) {
  constexpr std::size_t kTile = 32;
  const auto tiles = [=](std::size_t begin, std::size_t end) {
    for (std::size_t tile = begin; tile < end; ++tile) {
      const std::size_t top = tile * kTile;
      for (std::size_t left = 0; left <= top; left += kTile) {
        for (std::size_t i = top; i < std::min(top + kTile, n); ++i) {
          for (std::size_t j = left; j < std::min(left + kTile, i); ++j)
            std::swap(matrix[i * n + j], matrix[j * n + i]);
        }
      }
    }
  };
  ForRanges(context, (n + kTile - 1) / kTile, n * n, tiles);
}

// Identities of n rows, one below the other. False if it was cancelled.
template <typename T>
bool SetIdentities(std::span<T> matrices, std::size_t n, CpuContext& context) {
  if (matrices.empty()) return true;
  T* const first = matrices.data();
  return context.ParallelChunks(matrices.size() / n, 65'536 / n + 1, [=](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      std::fill_n(first + row * n, n, T{0});
      first[row * n + row % n] = 1;
    }
  });
}

}  // namespace hotplate
