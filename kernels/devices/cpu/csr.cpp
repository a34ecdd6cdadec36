#include "kernels/devices/cpu/csr.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/devices/cpu/multiversion.h"

namespace hotplate::csr {
namespace {

// Elements of indptr that a thread looks through between two looks at the cancel flag.
constexpr std::size_t kAtOnce = 1 << 16;

// How often an element is below the one before it, in [begin, end): fewer than 2^31, so that they can be counted in
// Index. begin is not 0.
template <typename Index>
HOTPLATE_MULTIVERSION std::uint64_t Descents(const Index* numbers, std::size_t begin, std::size_t end) {
  Index descents = 0;
#pragma omp simd reduction(+ : descents)
  for (std::size_t i = begin; i < end; ++i) descents += numbers[i] < numbers[i - 1] ? 1 : 0;
  return static_cast<std::uint64_t>(descents);
}

// How often the first entry of a row in [begin, end) is below the entry before it, where it is in [from, to).
template <typename Index>
HOTPLATE_MULTIVERSION std::uint64_t DescentsToRows(const Matrix<Index>& matrix, std::size_t begin, std::size_t end,
                                                   std::size_t from, std::size_t to) {
  const Index* const indptr = matrix.indptr;
  const Index* const indices = matrix.indices;
  const auto low = static_cast<Index>(from), high = static_cast<Index>(to);
  Index descents = 0;
#pragma omp simd reduction(+ : descents)
  for (std::size_t row = begin; row < end; ++row) {
    const Index first = indptr[row];
    const bool counts = first != indptr[row + 1] && first >= low && first < high;
    const Index at = counts ? first : low;
    descents += counts && indices[at] < indices[at - 1] ? 1 : 0;
  }
  return static_cast<std::uint64_t>(descents);
}

// Negative ones are the largest unsigned ones.
template <typename Index>
HOTPLATE_MULTIVERSION bool AreBelow(const Index* numbers, std::size_t begin, std::size_t end,
                                    std::make_unsigned_t<Index> limit) {
  using Unsigned = std::make_unsigned_t<Index>;
  Unsigned largest = 0;
#pragma omp simd reduction(max : largest)
  for (std::size_t i = begin; i < end; ++i) {
    const Unsigned number = static_cast<Unsigned>(numbers[i]);
    largest = number > largest ? number : largest;
  }
  return begin == end || largest < limit;
}

template <typename Index>
bool FindInIndptr(const Matrix<Index>& matrix, Defect& first, CpuContext& context, double at) {
  FirstBadPiece bad(kAtOnce);
  const auto look = [&](std::size_t begin, std::size_t end) {
    if (Descents(matrix.indptr, begin + 1, end + 1) != 0) bad.Add(begin);
  };
  if (!context.ParallelChunks(matrix.rows, kAtOnce, look, {at, at})) return false;
  first = DefectOfIndptr(matrix, 0);
  // Where no piece is bad only the last element may be wrong; else the first descent is in the first bad piece.
  std::uint64_t i = bad.item() < matrix.rows ? bad.item() + 1 : matrix.rows;
  for (; first.wrong == Wrong::kNothing && i <= matrix.rows; ++i) first = DefectOfIndptr(matrix, i);
  return true;
}

template <typename Index>
bool AreGood(const Matrix<Index>& matrix, Place begin, Place end) {
  using Unsigned = std::make_unsigned_t<Index>;
  const Unsigned limit = static_cast<Unsigned>(
      std::min<std::uint64_t>(matrix.columns, std::uint64_t{std::numeric_limits<Index>::max()} + 1));
  if (!AreBelow(matrix.indices, begin.entry, end.entry, limit)) return false;
  // Indices may descend from each row to the next, and nowhere else.
  const std::size_t from = std::max<std::size_t>(begin.entry, 1);
  if (from >= end.entry) return true;
  const std::size_t last_row = std::min<std::size_t>(end.row + 1, matrix.rows);
  return Descents(matrix.indices, from, end.entry) == DescentsToRows(matrix, begin.row, last_row, from, end.entry);
}

}  // namespace

bool FindDefectOfIndptr(const Matrix<std::int32_t>& matrix, Defect& first, CpuContext& context, double at) {
  return FindInIndptr(matrix, first, context, at);
}
bool FindDefectOfIndptr(const Matrix<std::int64_t>& matrix, Defect& first, CpuContext& context, double at) {
  return FindInIndptr(matrix, first, context, at);
}
bool EntriesAreGood(const Matrix<std::int32_t>& matrix, Place begin, Place end) { return AreGood(matrix, begin, end); }
bool EntriesAreGood(const Matrix<std::int64_t>& matrix, Place begin, Place end) { return AreGood(matrix, begin, end); }

}  // namespace hotplate::csr
