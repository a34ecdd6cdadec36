// Rows sorted with the indices of their elements, for the sorts that move something with their keys. A 32-bit key and
// its index are packed into one number for sort's own sort; 64-bit keys go through a radix sort. Stable.
//
// row_at(row) returns an object with T At(i), the row's element i, and void Take(order, key, from, to): the element at
// `from`, with this tie key, has its place at `to`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/array/dtype.h"
#include "kernels/catalogue/sort/merge_cpu.h"
#include "kernels/catalogue/sort/sort_order.h"
#include "kernels/catalogue/sort_by_key/radix_cpu.h"
#include "kernels/devices/cpu/cpu_context.h"

namespace hotplate::sort_by_key {

inline std::uint64_t CountBytes(std::size_t n) { return PieceCount(n) * kDigits * sizeof(std::uint64_t); }

// Scratch for rows of n elements, `elements` in all and not 0: entries twice (for long rows: of one row), preceded by
// the counts of the radix sort.
inline std::uint64_t IndexedBytes(DType dtype, std::size_t n, std::size_t elements) {
  const bool is_short = n < sort::kSerialBelow;
  const std::size_t at_once = is_short ? elements : n;
  if (SizeOf(dtype) == 8) return CountBytes(n) + 2 * at_once * sizeof(Entry);
  return (is_short ? 1 : 2) * at_once * sizeof(std::int64_t);
}

// The order's key, made signed, above the index.
template <typename T, typename RowAt>
bool SortPacked(std::size_t rows, std::size_t n, sort::Order<T> order, const RowAt& row_at,
                std::span<std::byte> scratch, CpuContext& context) {
  std::int64_t* const entries = reinterpret_cast<std::int64_t*>(scratch.data());
  const auto loader = [=](const auto& row) {
    return [=](std::size_t i) {
      const std::uint64_t key = order.TieKeyOf(row.At(i)) ^ sort::Order<T>::kSign;
      return static_cast<std::int64_t>(key << 32 | i);
    };
  };
  const auto storer = [=](const auto& row) {
    return [=](std::size_t i, std::int64_t entry) {
      const std::uint32_t key = static_cast<std::uint32_t>(static_cast<std::uint64_t>(entry) >> 32);
      row.Take(order, key ^ sort::Order<T>::kSign, static_cast<std::uint32_t>(entry), i);
    };
  };
  if (n < sort::kSerialBelow) {
    const auto row_sort = [&](std::size_t i) {
      const auto row = row_at(i);
      sort::SortShortRow(n, entries + i * n, loader(row), storer(row));
    };
    return sort::EachShortRow(rows, n, row_sort, context);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = row_at(i);
    std::int64_t* const sorted = entries + n;
    // Values are fetched when all is in order: a merge that waits for memory at each step takes four times as long.
    const bool complete = sort::SortLongRow(
        n, entries, sorted, loader(row), [=](std::size_t at, std::int64_t entry) { sorted[at] = entry; }, context,
        CpuContext::Part().Step(i, rows));
    if (!complete) return false;
    context.ParallelFor(n, 0, [&](std::size_t begin, std::size_t end) {
      const auto store = storer(row);
      for (std::size_t at = begin; at < end; ++at) store(at, sorted[at]);
    });
  }
  return true;
}

template <typename T, typename RowAt>
bool SortWide(std::size_t rows, std::size_t n, sort::Order<T> order, const RowAt& row_at, std::span<std::byte> scratch,
              CpuContext& context) {
  std::uint64_t* const counts = reinterpret_cast<std::uint64_t*>(scratch.data());
  Entry* const entries = reinterpret_cast<Entry*>(scratch.data() + CountBytes(n));
  const auto loader = [=](const auto& row) {
    return [=](std::size_t i) { return Entry{.key = order.TieKeyOf(row.At(i)), .index = i}; };
  };
  const auto storer = [=](const auto& row) {
    return [=](std::size_t i, const Entry& entry) { row.Take(order, entry.key, entry.index, i); };
  };
  if (n < sort::kSerialBelow) {
    const auto row_sort = [&](std::size_t i) {
      const auto row = row_at(i);
      Entry* const a = entries + 2 * i * n;
      SortShortRow(n, a, a + n, loader(row), storer(row));
    };
    return sort::EachShortRow(rows, n, row_sort, context);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = row_at(i);
    if (!SortLongRow(n, counts, entries, entries + n, loader(row), storer(row), context,
                     CpuContext::Part().Step(i, rows))) {
      return false;
    }
  }
  return true;
}

// False if it was cancelled. `scratch` as of IndexedBytes.
template <typename T, typename RowAt>
bool SortIndexed(std::size_t rows, std::size_t n, sort::Order<T> order, const RowAt& row_at,
                 std::span<std::byte> scratch, CpuContext& context) {
  if constexpr (sizeof(sort::BitsOf<T>) == 4) {
    return SortPacked(rows, n, order, row_at, scratch, context);
  } else {
    return SortWide(rows, n, order, row_at, scratch, context);
  }
}

}  // namespace hotplate::sort_by_key
