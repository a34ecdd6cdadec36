// Looking at sparse matrices on the CPU, before anything is read that they point to.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/families/csr.h"

namespace hotplate::csr {

// Uses all threads; progress stays at `at`. False if it was cancelled: nothing is known then.
bool FindDefectOfIndptr(const Matrix<std::int32_t>& matrix, Defect& first, CpuContext& context, double at);
bool FindDefectOfIndptr(const Matrix<std::int64_t>& matrix, Defect& first, CpuContext& context, double at);

// True if every entry of a piece is a column and each row's entries are in order. indptr has been checked.
bool EntriesAreGood(const Matrix<std::int32_t>& matrix, Place begin, Place end);
bool EntriesAreGood(const Matrix<std::int64_t>& matrix, Place begin, Place end);

// The first bad piece found by the threads. Pieces have the same number of items.
class FirstBadPiece {
 public:
  explicit FirstBadPiece(std::size_t items_of_a_piece) : size_(items_of_a_piece) {}

  // A bad piece, given by its first item.
  void Add(std::size_t item) {
    std::size_t known = item_.load(std::memory_order_relaxed);
    while (item < known && !item_.compare_exchange_weak(known, item, std::memory_order_relaxed)) {
    }
  }
  // SIZE_MAX if there is none.
  std::size_t item() const { return item_.load(std::memory_order_relaxed); }

  // The first defect in that piece; none if there is no such piece.
  template <typename Index>
  Defect Look(const Matrix<Index>& matrix) const {
    const std::size_t item = this->item(), items = ItemsOf(matrix);
    if (item >= items) return {};
    return FirstDefectOfEntries(matrix, PlaceOf(matrix, item).entry,
                                PlaceOf(matrix, std::min(items, item + size_)).entry);
  }

 private:
  const std::size_t size_;
  std::atomic<std::size_t> item_{SIZE_MAX};
};

}  // namespace hotplate::csr
