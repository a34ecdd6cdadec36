// A sparse matrix in compressed rows; its possible defects and their messages, for both back-ends; and how work on it
// is cut. Standard library only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "kernels/call/call.h"
#include "kernels/call/host_device.h"

namespace hotplate::csr {

// Row r has the entries from indptr[r] to before indptr[r + 1]; indices are their columns. None of that is certain
// before the arrays have been checked.
template <typename Index>
struct Matrix {
  const Index* indptr = nullptr;   // rows + 1
  const Index* indices = nullptr;  // entries
  std::uint64_t rows = 0, columns = 0, entries = 0;
};

// indptr and indices of a call; `columns`: how many there are, which no array of a matrix says.
template <typename Index>
Matrix<Index> MatrixOf(const Call& call, std::uint64_t columns) {
  const auto indptr = call.Input<Index>("indptr"), indices = call.Input<Index>("indices");
  return {indptr.data(), indices.data(), indptr.size() - 1, columns, indices.size()};
}

enum class Wrong : std::uint64_t { kNothing, kStart, kDecreases, kEnd, kColumn, kOrder };

struct Defect {
  Wrong wrong = Wrong::kNothing;
  std::uint64_t at = 0;  // in indptr or indices
  std::uint64_t row = 0;
  std::int64_t value = 0, before = 0;  // there, and just before it
};

// The defect of indptr[i], compared with its neighbours.
template <typename Index>
HOTPLATE_HOST_DEVICE Defect DefectOfIndptr(const Matrix<Index>& matrix, std::uint64_t i) {
  Defect defect;
  defect.at = i;
  defect.value = matrix.indptr[i];
  defect.before = i == 0 ? 0 : matrix.indptr[i - 1];
  if (i == 0 && defect.value != 0) {
    defect.wrong = Wrong::kStart;
  } else if (defect.value < defect.before) {
    defect.wrong = Wrong::kDecreases;
  } else if (i == matrix.rows && defect.value != static_cast<std::int64_t>(matrix.entries)) {
    defect.wrong = Wrong::kEnd;
  }
  return defect;
}

// Which row of [low, high] the entry is in. indptr has been found good.
template <typename Index>
HOTPLATE_HOST_DEVICE std::uint64_t RowOf(const Matrix<Index>& matrix, std::uint64_t entry, std::uint64_t low,
                                         std::uint64_t high) {
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (static_cast<std::uint64_t>(matrix.indptr[middle + 1]) > entry) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// The first of the entries from begin to before end. indptr has been found good.
template <typename Index>
HOTPLATE_HOST_DEVICE Defect FirstDefectOfEntries(const Matrix<Index>& matrix, std::uint64_t begin, std::uint64_t end) {
  Defect defect;
  defect.row = RowOf(matrix, begin, 0, matrix.rows);
  for (defect.at = begin; defect.at < end; ++defect.at) {
    while (static_cast<std::uint64_t>(matrix.indptr[defect.row + 1]) <= defect.at) ++defect.row;
    defect.value = matrix.indices[defect.at];
    if (defect.value < 0 || static_cast<std::uint64_t>(defect.value) >= matrix.columns) {
      defect.wrong = Wrong::kColumn;
      return defect;
    }
    if (defect.at == static_cast<std::uint64_t>(matrix.indptr[defect.row])) continue;
    defect.before = matrix.indices[defect.at - 1];
    if (defect.before > defect.value) {
      defect.wrong = Wrong::kOrder;
      return defect;
    }
  }
  return defect;
}

// `columns`: called "columns" or "nodes" in the message.
inline Outcome OutcomeOf(const Defect& defect, std::uint64_t entries, std::uint64_t columns, const char* called) {
  char text[240];
  const auto number = [](auto value) { return static_cast<long long>(value); };
  const long long at = number(defect.at), value = number(defect.value), before = number(defect.before);
  switch (defect.wrong) {
    case Wrong::kNothing:
      return Outcome::Ok();
    case Wrong::kStart:
      std::snprintf(text, sizeof text, "indptr[0] is %lld; it must be 0, where the first row begins", value);
      break;
    case Wrong::kDecreases:
      std::snprintf(text, sizeof text, "indptr[%lld] is %lld, after %lld; indptr must not decrease", at, value, before);
      break;
    case Wrong::kEnd:
      std::snprintf(text, sizeof text, "indptr[%lld], the last, is %lld; it must be %lld, the length of indices", at,
                    value, number(entries));
      break;
    case Wrong::kColumn:
      std::snprintf(text, sizeof text,
                    "indices[%lld], in row %lld, is %lld; it must be at least 0 and less than %lld, the number of %s",
                    at, number(defect.row), value, number(columns), called);
      break;
    case Wrong::kOrder:
      std::snprintf(text, sizeof text,
                    "indices[%lld], in row %lld, is %lld, after %lld; the indices of a row must be in ascending order, "
                    "as SciPy's sort_indices() puts them",
                    at, number(defect.row), value, before);
      break;
  }
  return Outcome::Invalid(text);
}

// A matrix is processed item by item: the entries of a row, then the row's end, which counts as an item. Pieces with
// the same number of items are equal work, whether they have many short rows or a part of a long one.
struct Place {
  std::uint64_t row = 0, entry = 0;  // the next ones
};

template <typename Index>
HOTPLATE_HOST_DEVICE constexpr std::uint64_t ItemsOf(const Matrix<Index>& matrix) {
  return matrix.rows + matrix.entries;
}

// Where item `item` is, or the end. indptr has been found good.
template <typename Index>
HOTPLATE_HOST_DEVICE Place PlaceOf(const Matrix<Index>& matrix, std::uint64_t item) {
  std::uint64_t low = item > matrix.entries ? item - matrix.entries : 0, high = item < matrix.rows ? item : matrix.rows;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (static_cast<std::uint64_t>(matrix.indptr[middle + 1]) + middle < item) {  // the item that ends it
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {low, item - low};
}

}  // namespace hotplate::csr
