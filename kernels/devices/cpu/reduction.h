// Reductions of an array along its middle axis, by the folds of kernels/families/folds.h. The array is cut into blocks
// that fit the second-level cache; within one, as many elements as a few vectors hold are folded side by side, whether
// they belong to one output or to several. Cuts depend on sizes only: the result is the same with any number of
// threads.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/multiversion.h"
#include "kernels/families/axis.h"
#include "kernels/families/folds.h"

namespace hotplate::reduction {

// Elements folded side by side within a block of few columns; columns of a block of many.
inline constexpr std::size_t kLanes = 128, kTile = 1024;
// For a block of one column: as many lanes as stay in registers.
inline constexpr std::size_t kColumnLanes = 32;
// For many columns: the number folded together in registers. With fewer columns, one row after the other is as fast.
inline constexpr std::size_t kAbreast = 32, kManyColumns = 256;
// Bytes folded while as many are prefetched into the second-level cache.
inline constexpr std::size_t kAskedFor = 131'072, kLine = 64;
// With fewer of them one element after the other is as fast.
inline constexpr std::size_t kFewLanes = 8;
// A shorter row has few lanes by itself, so this many rows are folded side by side, or half of them if they have more
// bytes than kShortRowsBytes: the first-level cache must hold them and their copy.
inline constexpr std::size_t kShortRow = 8 * kFewLanes, kShortRows = 32, kShortRowsBytes = 8192;
// Most elements of a block, and about as many as a thread takes at a time.
inline constexpr std::size_t kBlock = 131'072;
// Elements of a block that one lane folds, one after the other. The rounding error of their sum grows with this number:
// the error bound stated by norm depends on it.
inline constexpr std::size_t kDepth = 512;

// Whether a fold computes for longer than it waits for memory, so that what FoldColumns and FoldLanes save is nothing
// beside it: FoldRows alone is compiled for it. (norm's powers, which took half of its compile time.)
template <typename Fold>
inline constexpr bool kCostly = false;

struct Cut {
  std::size_t rows = 0;      // of a block
  std::size_t segments = 0;  // blocks above each other: each has a state for each output
  std::size_t tiles = 0;     // blocks beside each other
};

// Rows of a block that may be folded side by side.
inline std::size_t MostTogether(std::size_t columns) {
  return columns == 1 ? kColumnLanes : std::max<std::size_t>(1, kLanes / columns);
}

inline Cut CutOf(const Extent& extent) {
  const std::size_t wide = std::clamp<std::size_t>(extent.inner, 1, kTile);
  Cut cut;
  cut.rows = std::min(kBlock / wide, kDepth * MostTogether(wide));
  cut.segments = (extent.count + cut.rows - 1) / cut.rows;
  cut.tiles = (extent.inner + kTile - 1) / kTile;
  return cut;
}

// Scratch that Reduce finds: states of that many bytes, unless one block has all rows of its outputs.
inline std::uint64_t StateBytes(const Extent& extent, std::size_t state_bytes) {
  const Cut cut = CutOf(extent);
  return cut.segments <= 1 ? 0 : extent.outputs() * cut.segments * state_bytes;
}

// Folds rows [0, rows) of kWide columns, `stride` elements apart, in registers, into a and b, which already hold
// `before` rows. With each row, the elements `ahead` of it are prefetched.
template <std::size_t kWide, typename Fold>
HOTPLATE_INLINE void FoldInRegisters(const Fold& fold, const typename Fold::Element* __restrict x, std::size_t before,
                                     std::size_t rows, std::size_t stride, std::size_t ahead,
                                     const double* __restrict about, typename Fold::First* __restrict a,
                                     typename Fold::Second* __restrict b) {
  using Row = folds::RowOf<typename Fold::Element>;
  const Fold own = fold;  // which no store can change
  typename Fold::First first[kWide];
  typename Fold::Second second[kWide];
  if (before == 0) {
#pragma omp simd
    for (std::size_t j = 0; j < kWide; ++j) own.Begin(first[j], second[j], x[j], Fold::kAbout ? about[j] : 0.0);
  } else {
    for (std::size_t j = 0; j < kWide; ++j) first[j] = a[j], second[j] = b[j];
  }
  for (std::size_t i = before == 0 ? 1 : 0; i < rows; ++i) {
    const typename Fold::Element* __restrict row = x + i * stride;
    if (ahead != 0) {
      for (std::size_t j = 0; j < kWide; j += kLine / sizeof(*x)) __builtin_prefetch(row + ahead + j, 0, 2);
    }
#pragma omp simd
    for (std::size_t j = 0; j < kWide; ++j)
      own.Add(first[j], second[j], row[j], static_cast<Row>(before + i), Fold::kAbout ? about[j] : 0.0);
  }
  for (std::size_t j = 0; j < kWide; ++j) a[j] = first[j], b[j] = second[j];
}

// Rows [0, rows) of columns [0, columns), `stride` elements apart, into a and b.
template <typename Fold>
HOTPLATE_MULTIVERSION static void FoldRows(const Fold& fold, const typename Fold::Element* __restrict x,
                                           std::size_t rows, std::size_t stride, std::size_t columns,
                                           const double* __restrict about, typename Fold::First* __restrict a,
                                           typename Fold::Second* __restrict b) {
  using Row = folds::RowOf<typename Fold::Element>;
  const Fold own = fold;
#pragma omp simd
  for (std::size_t j = 0; j < columns; ++j) own.Begin(a[j], b[j], x[j], Fold::kAbout ? about[j] : 0.0);
  for (std::size_t i = 1; i < rows; ++i) {
    asm volatile("");  // or GCC makes one loop over j of two of these, and the processor does not read ahead
    const typename Fold::Element* __restrict row = x + i * stride;
#pragma omp simd
    for (std::size_t j = 0; j < columns; ++j)
      own.Add(a[j], b[j], row[j], static_cast<Row>(i), Fold::kAbout ? about[j] : 0.0);
  }
}

// The same for many columns, into a and b with room for kFewLanes more; readable memory ends at `end`. A few columns at
// a time are folded in registers, over as many rows as a part of the second-level cache holds. The rows below are
// prefetched meanwhile, since the hardware does not prefetch such steps.
template <typename Fold>
HOTPLATE_MULTIVERSION static void FoldColumns(const Fold& fold, const typename Fold::Element* __restrict x,
                                              const typename Fold::Element* end, std::size_t rows, std::size_t stride,
                                              std::size_t columns, const double* __restrict about,
                                              typename Fold::First* __restrict a, typename Fold::Second* __restrict b) {
  const std::size_t at_once = std::max<std::size_t>(1, kAskedFor / (columns * sizeof(*x)));
  for (std::size_t before = 0; before < rows; before += at_once) {
    const typename Fold::Element* const top = x + before * stride;
    const std::size_t here = std::min(at_once, rows - before);
    const std::size_t ahead = static_cast<std::size_t>(end - top) > here * stride ? here * stride : 0;
    std::size_t to = 0;
    for (; to + kAbreast <= columns; to += kAbreast) {
      FoldInRegisters<kAbreast>(fold, top + to, before, here, stride, ahead, Fold::kAbout ? about + to : nullptr,
                                a + to, b + to);
    }
    for (; to < columns; to += kFewLanes) {  // the last ones overlap the ones before, with an output of their own
      const std::size_t j = std::min(to, columns - kFewLanes);
      FoldInRegisters<kFewLanes>(fold, top + j, before, here, stride, ahead, Fold::kAbout ? about + j : nullptr, a + to,
                                 b + to);
    }
  }
  const std::size_t left = columns % kFewLanes;
  for (std::size_t j = columns - left; j < columns; ++j) a[j] = a[j + kFewLanes - left], b[j] = b[j + kFewLanes - left];
}

// The same of kWide columns that lie side by side.
template <std::size_t kWide, typename Fold>
HOTPLATE_MULTIVERSION static void FoldLanes(const Fold& fold, const typename Fold::Element* __restrict x,
                                            std::size_t rows, const double* __restrict about,
                                            typename Fold::First* __restrict a, typename Fold::Second* __restrict b) {
  FoldInRegisters<kWide>(fold, x, 0, rows, kWide, 0, about, a, b);
}

// FoldRows, or what is faster.
template <typename Fold>
void FoldStrided(const Fold& fold, const typename Fold::Element* x, const typename Fold::Element* end, std::size_t rows,
                 std::size_t stride, std::size_t columns, const double* about, typename Fold::First* a,
                 typename Fold::Second* b) {
  if constexpr (!kCostly<Fold>) {
    if (columns >= kManyColumns) return FoldColumns(fold, x, end, rows, stride, columns, about, a, b);
  }
  FoldRows(fold, x, rows, stride, columns, about, a, b);
}
template <std::size_t kWide, typename Fold>
void FoldWide(const Fold& fold, const typename Fold::Element* x, std::size_t rows, const double* about,
              typename Fold::First* a, typename Fold::Second* b) {
  if constexpr (kCostly<Fold>) {
    FoldRows(fold, x, rows, kWide, kWide, about, a, b);
  } else {
    FoldLanes<kWide>(fold, x, rows, about, a, b);
  }
}

// The state of column j of few rows.
template <typename Fold>
HOTPLATE_INLINE typename Fold::State FoldOne(const Fold& fold, const typename Fold::Element* x, std::size_t first,
                                             std::size_t rows, std::size_t stride, const double* about, std::size_t j) {
  const double own = Fold::kAbout ? about[j] : 0.0;
  typename Fold::First a;
  typename Fold::Second b;
  fold.Begin(a, b, x[0], own);
  for (std::size_t i = 1; i < rows; ++i) {
    fold.Add(a, b, x[i * stride], static_cast<folds::RowOf<typename Fold::Element>>(i), own);
  }
  return fold.Lift(a, b, first, 1);
}

// Writes the states of `columns` outputs, of rows [first, first + rows) that begin at x. `about` has a number for each
// of these columns, where the fold needs them.
template <typename Fold>
void FoldBlock(const Fold& fold, const typename Fold::Element* x, const typename Fold::Element* end, std::size_t first,
               std::size_t rows, std::size_t stride, std::size_t columns, const double* about,
               typename Fold::State* states) {
  alignas(64) typename Fold::First a[kTile + kFewLanes];
  alignas(64) typename Fold::Second b[kTile + kFewLanes];
  if (stride != columns || columns > kLanes / 2) {
    FoldStrided(fold, x, end, rows, stride, columns, about, a, b);
    for (std::size_t j = 0; j < columns; ++j) states[j] = fold.Lift(a[j], b[j], first, 1);
    return;
  }
  // Several rows side by side: fewer of a shorter column, so that merging them is a small part of the work.
  const std::size_t wanted = std::max(rows / 32, std::min<std::size_t>(rows / 8, 16));
  std::size_t together = std::clamp<std::size_t>(wanted, 1, MostTogether(columns));
  if (columns == 1) together = std::bit_floor(together);
  const std::size_t width = together * columns, groups = rows / together;
  if (width < kFewLanes) {
    for (std::size_t j = 0; j < columns; ++j) states[j] = FoldOne(fold, x + j, first, rows, stride, about, j);
    return;
  }
  const std::size_t left = rows % together * columns;
  alignas(64) double repeated[Fold::kAbout ? kLanes : 1];
  if constexpr (Fold::kAbout) {
    for (std::size_t j = 0; j < kLanes; ++j) repeated[j] = about[j % columns];
  }
  const double* const abouts = Fold::kAbout ? repeated : nullptr;
  if (columns == 1 && width == kColumnLanes) {
    FoldWide<kColumnLanes>(fold, x, groups, abouts, a, b);
  } else if (columns == 1 && width == kColumnLanes / 2) {
    FoldWide<kColumnLanes / 2>(fold, x, groups, abouts, a, b);
  } else if (columns == 1) {
    static_assert(kFewLanes == kColumnLanes / 4);
    FoldWide<kFewLanes>(fold, x, groups, abouts, a, b);
  } else {
    FoldRows(fold, x, groups, width, width, abouts, a, b);
  }
  for (std::size_t j = 0; j < left; ++j) {
    fold.Add(a[j], b[j], x[groups * width + j], static_cast<folds::RowOf<typename Fold::Element>>(groups),
             Fold::kAbout ? about[j % columns] : 0.0);
  }
  for (std::size_t j = 0; j < columns; ++j) {
    states[j] = fold.Lift(a[j], b[j], first, together);
    for (std::size_t row = 1; row < together; ++row) {
      const std::size_t lane = row * columns + j;
      fold.Merge(states[j], fold.Lift(a[lane], b[lane], first + row, together));
    }
  }
}

// transposed[i][row] = x[row][i] of kRows rows, in blocks of four by four in registers.
template <std::size_t kRows, typename Element>
HOTPLATE_MULTIVERSION static void Transpose(const Element* __restrict x, std::size_t count,
                                            Element* __restrict transposed) {
  using Four [[gnu::vector_size(4 * sizeof(Element)), gnu::aligned(sizeof(Element)), gnu::may_alias]] = Element;
  if (count < 4) {
    for (std::size_t row = 0; row < kRows; row += 2) {  // two at once: they are stored together
      for (std::size_t i = 0; i < count; ++i) {
        transposed[i * kRows + row] = x[row * count + i];
        transposed[i * kRows + row + 1] = x[(row + 1) * count + i];
      }
    }
    return;
  }
  for (std::size_t row = 0; row < kRows; row += 4) {
    for (std::size_t next = 0; next < count; next += 4) {
      const std::size_t i = std::min(next, count - 4);  // the last four overlap the ones before
      const Element* const from = x + row * count + i;
      const auto four = [=](std::size_t k) { return reinterpret_cast<const Four*>(from + k * count); };
      const Four a = *four(0), b = *four(1), c = *four(2), d = *four(3);
      const Four ab02 = __builtin_shufflevector(a, b, 0, 4, 2, 6), ab13 = __builtin_shufflevector(a, b, 1, 5, 3, 7);
      const Four cd02 = __builtin_shufflevector(c, d, 0, 4, 2, 6), cd13 = __builtin_shufflevector(c, d, 1, 5, 3, 7);
      const auto to = [=](std::size_t k) { return reinterpret_cast<Four*>(transposed + (i + k) * kRows + row); };
      *to(0) = __builtin_shufflevector(ab02, cd02, 0, 1, 4, 5);
      *to(1) = __builtin_shufflevector(ab13, cd13, 0, 1, 4, 5);
      *to(2) = __builtin_shufflevector(ab02, cd02, 2, 3, 6, 7);
      *to(3) = __builtin_shufflevector(ab13, cd13, 2, 3, 6, 7);
    }
  }
}

// Calls finish(state, row) for kRows short rows of `count` elements, with an output each. They are transposed on their
// side: by itself each element of a row would wait for the one before.
template <std::size_t kRows, typename Fold, typename Finish>
void FoldShortRows(const Fold& fold, const typename Fold::Element* x, std::size_t count, const double* about,
                   const Finish& finish) {
  alignas(64) typename Fold::Element transposed[kShortRow * kRows];
  alignas(64) typename Fold::First a[kRows];
  alignas(64) typename Fold::Second b[kRows];
  // All of it is asked for at once, in the memory's order: transposing it goes to and fro, and nothing reads ahead.
  for (std::size_t i = 0; i < kRows * count; i += kLine / sizeof(*x)) asm volatile("" : : "r"(x[i]));
  Transpose<kRows>(x, count, transposed);
  FoldWide<kRows>(fold, transposed, count, about, a, b);
  for (std::size_t row = 0; row < kRows; ++row) finish(fold.Lift(a[row], b[row], 0, 1), row);
}

// Calls finish(state, output) for each output. No axis is empty. `part`: the part of the call that this is. False if it
// was cancelled.
template <typename Fold, typename Finish>
bool Reduce(CpuContext& context, const Fold& fold, const typename Fold::Element* x, const Extent& extent,
            const double* about, void* scratch, const Finish& finish, CpuContext::Part part) {
  using State = typename Fold::State;
  const Cut cut = CutOf(extent);
  const std::size_t inner = extent.inner, count = extent.count;
  State* const kept = static_cast<State*>(scratch);
  const std::size_t units = extent.outer * cut.segments * cut.tiles;
  const std::size_t unit_elements = std::min(count, cut.rows) * std::min(inner, kTile);
  const std::size_t at_once = std::max<std::size_t>(1, kBlock / unit_elements);
  const auto fold_units = [=](std::size_t begin, std::size_t end) {
    if (inner == 1 && count < kShortRow) {  // a unit is an output
      std::size_t first = begin;
      const auto side_by_side = [&]<std::size_t kRows>() {
        for (; end - first >= kRows; first += kRows) {
          FoldShortRows<kRows>(fold, x + first * count, count, Fold::kAbout ? about + first : nullptr,
                               [&](const State& state, std::size_t row) { finish(state, first + row); });
        }
      };
      if (kShortRows * count * sizeof(*x) <= kShortRowsBytes) side_by_side.template operator()<kShortRows>();
      side_by_side.template operator()<kShortRows / 2>();
      for (; first < end; ++first) finish(FoldOne(fold, x + first * count, 0, count, 1, about, first), first);
      return;
    }
    State here[kTile];
    for (std::size_t unit = begin; unit < end; ++unit) {
      const std::size_t tile = unit % cut.tiles, segment = unit / cut.tiles % cut.segments;
      const std::size_t outer = unit / cut.tiles / cut.segments;
      const std::size_t row = segment * cut.rows, rows = std::min(cut.rows, count - row);
      const std::size_t column = tile * kTile, columns = std::min(kTile, inner - column);
      State* const states = cut.segments == 1 ? here : kept + (outer * cut.segments + segment) * inner + column;
      const std::size_t output = outer * inner + column;
      FoldBlock(fold, x + (outer * count + row) * inner + column, x + extent.outer * count * inner, row, rows, inner,
                columns, Fold::kAbout ? about + output : nullptr, states);
      for (std::size_t j = 0; cut.segments == 1 && j < columns; ++j) finish(here[j], output + j);
    }
  };
  if (cut.segments == 1) return context.ParallelChunks(units, at_once, fold_units, part);
  // Folding is nearly all of the work.
  const double folded = part.from + 0.95 * (part.to - part.from);
  if (!context.ParallelChunks(units, at_once, fold_units, {part.from, folded})) return false;
  // Merging two states takes about as long as folding some elements.
  const std::size_t outputs_at_once = std::max<std::size_t>(1, kBlock / 8 / cut.segments);
  const auto merge_outputs = [=](std::size_t begin, std::size_t end) {
    State merged[kTile];
    for (std::size_t output = begin, beside; output < end; output += beside) {
      beside = std::min({kTile, end - output, inner - output % inner});
      const State* states = kept + output / inner * cut.segments * inner + output % inner;
      std::copy_n(states, beside, merged);
      for (std::size_t segment = 1; segment < cut.segments; ++segment) {
        states += inner;
        for (std::size_t j = 0; j < beside; ++j) fold.Merge(merged[j], states[j]);
      }
      for (std::size_t j = 0; j < beside; ++j) finish(merged[j], output + j);
    }
  };
  return context.ParallelChunks(extent.outputs(), outputs_at_once, merge_outputs, {folded, part.to});
}

}  // namespace hotplate::reduction
