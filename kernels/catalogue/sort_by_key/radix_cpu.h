// A radix sort, eight bits at a time from the lowest: stable, shared by all threads without a merge, and the same work
// for any order of the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/devices/cpu/cpu_context.h"

namespace hotplate::sort_by_key {

inline constexpr std::size_t kDigits = 256;

// A row shorter than this is sorted by comparing.
inline constexpr std::size_t kCompareBelow = 512;

// Length of the pieces of a row that threads take one after another: some milliseconds each, and enough pieces that a
// thread on a busy processor does not delay the others.
inline std::size_t PieceLength(std::size_t n) {
  return std::clamp<std::size_t>(n / 64, std::size_t{1} << 15, std::size_t{1} << 20);
}
inline std::size_t PieceCount(std::size_t n) { return n / PieceLength(n) + 1; }

// The sorted elements. The index orders equal keys.
struct Entry {
  std::uint64_t key;
  std::uint64_t index;
  bool operator<(const Entry& other) const { return key != other.key ? key < other.key : index < other.index; }
};

// Sorts n entries given by load(i) and passes them in order to store(position, entry). `a` and `b` have room for n
// entries each; the output of store() may overlap b, but neither a nor the input of load(). `counts` has room for
// kDigits numbers for each of `pieces`. each(step, steps, body) calls body(piece) for all pieces; false ends the sort.
template <typename Load, typename Store, typename Each>
bool RadixSort(std::size_t n, std::size_t pieces, std::uint64_t* counts, Entry* a, Entry* b, const Load& load,
               const Store& store, const Each& each) {
  using Key = std::uint64_t;
  constexpr int kMostPasses = sizeof(Key);
  constexpr int kSteps = 1 + 2 * kMostPasses;
  const std::size_t length = pieces == 1 ? n : PieceLength(n);
  const auto begin = [=](std::size_t piece) { return std::min(n, piece * length); };

  // Digits that are the same in all keys need no pass: the high ones of small integers.
  const bool looked = each(0, kSteps, [&](std::size_t piece) {
    Key all = ~Key{0}, any = 0;
    for (std::size_t i = begin(piece), end = begin(piece + 1); i < end; ++i) {
      const Key key = load(i).key;
      all &= key, any |= key;
    }
    counts[piece * kDigits] = all, counts[piece * kDigits + 1] = any;
  });
  if (!looked) return false;
  Key all = ~Key{0}, any = 0;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    all &= counts[piece * kDigits], any |= counts[piece * kDigits + 1];
  }
  int shifts[kMostPasses], passes = 0;
  for (int i = 0; i < kMostPasses; ++i) {
    if ((((all ^ any) >> (8 * i)) & 255) != 0) shifts[passes++] = 8 * i;
  }
  if (passes == 0) {
    return each(kSteps - 1, kSteps, [&](std::size_t piece) {
      for (std::size_t i = begin(piece), end = begin(piece + 1); i < end; ++i) store(i, load(i));
    });
  }

  // One pass by the digit at `shift`.
  const auto pass = [&](int step, int shift, const auto& from, const auto& to) {
    const auto digit = [shift](const Entry& entry) { return (entry.key >> shift) & 255; };
    const int steps = 1 + 2 * passes;
    const bool counted = each(step, steps, [&](std::size_t piece) {
      // Two tables: with one, equal digits in a row would wait for each other.
      std::uint64_t even[kDigits] = {}, odd[kDigits] = {};
      std::size_t i = begin(piece);
      const std::size_t end = begin(piece + 1);
      for (; i + 1 < end; i += 2) ++even[digit(from(i))], ++odd[digit(from(i + 1))];
      if (i < end) ++even[digit(from(i))];
      for (std::size_t d = 0; d < kDigits; ++d) counts[piece * kDigits + d] = even[d] + odd[d];
    });
    if (!counted) return false;
    std::uint64_t before = 0;
    for (std::size_t d = 0; d < kDigits; ++d) {
      for (std::size_t piece = 0; piece < pieces; ++piece) {
        const std::uint64_t count = counts[piece * kDigits + d];
        counts[piece * kDigits + d] = before;
        before += count;
      }
    }
    return each(step + 1, steps, [&](std::size_t piece) {
      std::uint64_t next[kDigits];
      std::copy_n(counts + piece * kDigits, kDigits, next);
      for (std::size_t i = begin(piece), end = begin(piece + 1); i < end; ++i) {
        const Entry entry = from(i);
        to(next[digit(entry)]++, entry);
      }
    });
  };
  // To a and b in turns, so that the last pass reads a.
  const auto read = [](const Entry* entries) { return [entries](std::size_t i) { return entries[i]; }; };
  const auto write = [](Entry* entries) { return [entries](std::size_t i, const Entry& e) { entries[i] = e; }; };
  if (passes == 1) return pass(1, shifts[0], load, store);
  const auto target = [&](int i) { return (passes - 2 - i) % 2 == 0 ? a : b; };
  if (!pass(1, shifts[0], load, write(target(0)))) return false;
  for (int i = 1; i < passes - 1; ++i) {
    if (!pass(1 + 2 * i, shifts[i], read(target(i - 1)), write(target(i)))) return false;
  }
  return pass(2 * passes - 1, shifts[passes - 1], read(a), store);
}

// Sorts one row on all threads. `whole`: the part of the call that it is. False if it was cancelled.
template <typename Load, typename Store>
bool SortLongRow(std::size_t n, std::uint64_t* counts, Entry* a, Entry* b, const Load& load, const Store& store,
                 CpuContext& context, CpuContext::Part whole = {}) {
  const auto each = [&](int step, int steps, const auto& body) {
    return context.ParallelChunks(
        PieceCount(n), 1, [&](std::size_t piece, std::size_t) { body(piece); },
        whole.Step(static_cast<std::size_t>(step), static_cast<std::size_t>(steps)));
  };
  return RadixSort(n, PieceCount(n), counts, a, b, load, store, each);
}

// One row, by this thread.
template <typename Load, typename Store>
void SortShortRow(std::size_t n, Entry* a, Entry* b, const Load& load, const Store& store) {
  if (n < kCompareBelow) {
    for (std::size_t i = 0; i < n; ++i) a[i] = load(i);
    std::sort(a, a + n);
    for (std::size_t i = 0; i < n; ++i) store(i, a[i]);
    return;
  }
  std::uint64_t counts[kDigits];
  RadixSort(n, 1, counts, a, b, load, store, [](int, int, const auto& body) {
    body(std::size_t{0});
    return true;
  });
}

}  // namespace hotplate::sort_by_key
