// Looking at sparse matrices on the CPU, before anything is read that they point to.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kernels/cpu/cpu_context.h"
#include "kernels/csr.h"

namespace hotplate::csr {

// By all threads.
Defect FirstDefectOfIndptr(const Matrix<std::int32_t>& matrix, CpuContext& context);
Defect FirstDefectOfIndptr(const Matrix<std::int64_t>& matrix, CpuContext& context);

// Whether every entry of a piece is a column, and those of each row are in order. indptr has been found good.
bool EntriesAreGood(const Matrix<std::int32_t>& matrix, Place begin, Place end);
bool EntriesAreGood(const Matrix<std::int64_t>& matrix, Place begin, Place end);

// The first of the pieces of so many items that threads find to be bad.
class FirstBadPiece {
 public:
  explicit FirstBadPiece(std::size_t items_of_a_piece) : size_(items_of_a_piece) {}

  // By its first item.
  void Add(std::size_t item) {
    std::size_t known = item_.load(std::memory_order_relaxed);
    while (item < known && !item_.compare_exchange_weak(known, item, std::memory_order_relaxed)) {
    }
  }

  // What is wrong there; nothing if there is none.
  template <typename Index>
  Defect Look(const Matrix<Index>& matrix) const {
    const std::size_t item = item_.load(std::memory_order_relaxed), items = ItemsOf(matrix);
    if (item >= items) return {};
    return FirstDefectOfEntries(matrix, PlaceOf(matrix, item).entry,
                                PlaceOf(matrix, std::min(items, item + size_)).entry);
  }

 private:
  const std::size_t size_;
  std::atomic<std::size_t> item_{SIZE_MAX};
};

}  // namespace hotplate::csr
