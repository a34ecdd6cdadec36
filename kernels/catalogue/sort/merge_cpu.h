// Rows of signed integer keys, sorted by Highway's vqsort; the pieces of a long row are sorted by all threads and
// merged by all threads.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/devices/cpu/cpu_context.h"

namespace hotplate::sort {

// Ascending, on this thread. Not stable, which does not matter: equal keys are identical.
void SortKeys(std::int32_t* keys, std::size_t n);
void SortKeys(std::int64_t* keys, std::size_t n);

// A row shorter than this is one thread's.
inline constexpr std::size_t kSerialBelow = std::size_t{1} << 17;

// Elements of short rows that a thread takes at once: a millisecond or so.
inline constexpr std::size_t kElementsAtOnce = std::size_t{1} << 16;

// Elements of a merge that a thread takes at once.
inline constexpr std::size_t kMergedAtOnce = std::size_t{1} << 15;

// How many of a's first elements are among the first `count` of a and b merged, a's before b's where equal.
template <typename Key>
std::size_t CountOfFirst(const Key* a, std::size_t a_size, const Key* b, std::size_t b_size, std::size_t count) {
  std::size_t low = count > b_size ? count - b_size : 0, high = std::min(count, a_size);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (a[middle] <= b[count - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Calls store(position + i, key) for the keys of a and b in order, without a branch to mispredict.
template <typename Key, typename Store>
void Merge(const Key* a, const Key* a_end, const Key* b, const Key* b_end, std::size_t position, const Store& store) {
  while (a != a_end && b != b_end) {
    const Key left = *a, right = *b;
    const bool second = right < left;
    store(position++, second ? right : left);
    a += !second, b += second;
  }
  while (a != a_end) store(position++, *a++);
  while (b != b_end) store(position++, *b++);
}

// Sorts the n keys given by load(i) and passes them in order to store(position, key). `a` has room for n keys, and so
// has `b` if there is more than one thread. The output of store() may overlap b, but neither a nor the input of load().
// `whole`: the part of the call that this row is. False if it was cancelled.
template <typename Key, typename Load, typename Store>
bool SortLongRow(std::size_t n, Key* a, Key* b, const Load& load, const Store& store, CpuContext& context,
                 CpuContext::Part whole = {}) {
  const unsigned threads = static_cast<unsigned>(context.Threads());
  // A power of two; if the number of threads is not one, more pieces share the work more evenly.
  const std::size_t wanted = std::bit_ceil(threads) * (std::has_single_bit(threads) ? 1 : 2);
  const int rounds = std::countr_zero(wanted);
  const std::size_t length = (n / wanted / kMergedAtOnce + 1) * kMergedAtOnce;
  const auto part = [&](int step) {
    return whole.Step(static_cast<std::size_t>(step), 1 + static_cast<std::size_t>(std::max(rounds, 1)));
  };
  // In turns, so that the last round reads a.
  const auto source = [&](int round) { return (rounds - 1 - round) % 2 == 0 ? a : b; };

  Key* const first = rounds == 0 ? a : source(0);
  if (!context.ParallelChunks(
          n, length,
          [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) first[i] = load(i);
            SortKeys(first + begin, end - begin);
          },
          part(0))) {
    return false;
  }
  for (int round = 0; round < rounds; ++round) {
    const Key* const from = source(round);
    const std::size_t run = length << round;
    const auto merge = [&](const auto& to) {
      return context.ParallelChunks(
          n, kMergedAtOnce,
          [&](std::size_t begin, std::size_t end) {
            const std::size_t base = begin / (2 * run) * (2 * run);
            const Key* const left = from + base;
            const std::size_t left_size = std::min(run, n - base);
            const Key* const right = left + left_size;
            const std::size_t right_size = std::min(run, n - base - left_size);
            const std::size_t i = CountOfFirst(left, left_size, right, right_size, begin - base);
            const std::size_t j = CountOfFirst(left, left_size, right, right_size, end - base);
            Merge(left + i, left + j, right + (begin - base - i), right + (end - base - j), begin, to);
          },
          part(1 + round));
    };
    if (round == rounds - 1) return merge(store);
    Key* const target = source(round + 1);
    if (!merge([target](std::size_t position, Key key) { target[position] = key; })) return false;
  }
  // One piece only.
  return context.ParallelChunks(
      n, kElementsAtOnce,
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) store(i, a[i]);
      },
      part(1));
}

// The same for a short row, by this thread. What store() writes at i may lie over a's i.
template <typename Key, typename Load, typename Store>
void SortShortRow(std::size_t n, Key* a, const Load& load, const Store& store) {
  for (std::size_t i = 0; i < n; ++i) a[i] = load(i);
  SortKeys(a, n);
  for (std::size_t i = 0; i < n; ++i) store(i, a[i]);
}

// Calls row_sort(row) for each row of n < kSerialBelow elements, rows shared among the threads. False if it was
// cancelled.
template <typename RowSort>
bool EachShortRow(std::size_t rows, std::size_t n, const RowSort& row_sort, CpuContext& context) {
  return context.ParallelChunks(rows, std::max<std::size_t>(1, kElementsAtOnce / n),
                                [&](std::size_t begin, std::size_t end) {
                                  for (std::size_t row = begin; row < end; ++row) row_sort(row);
                                });
}

}  // namespace hotplate::sort
