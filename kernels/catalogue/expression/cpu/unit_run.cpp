// PassRun's reductions: units of work, each some rows of some results.
#include <algorithm>

#include "kernels/catalogue/expression/cpu/pass_run.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hotplate::expression {
namespace {

constexpr std::size_t kSerialWork = 65'536, kChunkElements = 65'536;

}  // namespace

std::byte* PassRun::States(Workspace& workspace, std::size_t fold, std::size_t unit) {
  if (kept_.empty()) return workspace.states[fold];
  return kept_[fold].get() + unit * geometry_.tile_columns * pass_.folds[fold].accumulator->state_bytes;
}

void PassRun::TakeBlock(Workspace& workspace, std::size_t at, std::size_t n, std::size_t begun, std::size_t row) {
  for (std::size_t i = 0; i < pass_.folds.size(); ++i) {
    const Folded& fold = pass_.folds[i];
    fold.accumulator->take(workspace.lanes[i], lanes_, at, workspace.slots[static_cast<std::size_t>(fold.slot)], n,
                           std::min(begun, n), static_cast<std::int64_t>(row));
  }
}

void PassRun::FoldLanes(Workspace& workspace, std::size_t lanes, std::size_t results, bool first, std::size_t unit) {
  for (std::size_t i = 0; i < pass_.folds.size(); ++i) {
    pass_.folds[i].accumulator->fold(workspace.lanes[i], lanes_, lanes, results, workspace.counts.data(), first,
                                     States(workspace, i, unit));
  }
}

void PassRun::FoldRows(Workspace& workspace, Depth& depth, bool first, std::size_t unit) {
  std::uint32_t longer = 0;
  for (std::size_t lane = depth.begun; lane-- > 0;) {
    longer += depth.of_length[lane + 1];
    workspace.counts[lane] = longer;
  }
  FoldLanes(workspace, depth.begun, geometry_.columns, first, unit);
  depth = {};
}

// Few columns: a block has several rows. Lane i of a block that begins with a row belongs to column i % columns.
bool PassRun::UnitRows(Workspace& workspace, std::size_t unit, std::size_t from, std::size_t to) {
  const std::size_t columns = geometry_.columns, end = to * columns;
  const std::size_t group = unit / geometry_.segments * geometry_.rows * columns;
  Depth depth;
  bool first = true;
  for (std::size_t position = from * columns, n; position < end; position += n) {
    n = LengthAt(group + position, group + end);
    if (!Block(workspace, group + position, n)) return false;
    TakeBlock(workspace, 0, n, depth.begun, position / columns);
    ++depth.of_length[n];
    depth.begun = std::max(depth.begun, n);
    if (++depth.blocks < kDepth && position + n < end) continue;
    FoldRows(workspace, depth, first, unit);
    first = false;
  }
  return true;
}

// Many columns: a row of the tile is one block or several.
bool PassRun::UnitTile(Workspace& workspace, std::size_t unit, std::size_t from, std::size_t to) {
  const std::size_t tile = unit / geometry_.segments % geometry_.tiles;
  const std::size_t outer = unit / geometry_.segments / geometry_.tiles;
  const std::size_t column = tile * geometry_.tile_columns;
  const std::size_t columns = std::min(geometry_.tile_columns, geometry_.columns - column);
  std::size_t begun = 0;
  bool first = true;
  for (std::size_t row = from; row < to; ++row) {
    const std::size_t begin = (outer * geometry_.rows + row) * geometry_.columns + column;
    for (std::size_t at = 0, n; at < columns; at += n) {
      n = LengthAt(begin + at, begin + columns);
      if (!Block(workspace, begin + at, n)) return false;
      TakeBlock(workspace, at, n, begun == 0 ? 0 : n, row);
    }
    if (++begun < kDepth && row + 1 < to) continue;
    std::fill_n(workspace.counts.begin(), columns, static_cast<std::uint32_t>(begun));
    FoldLanes(workspace, columns, columns, first, unit);
    first = false;
    begun = 0;
  }
  return true;
}

void PassRun::Unit(Workspace& workspace, std::size_t unit) {
  const std::size_t from = unit % geometry_.segments * geometry_.segment_rows;
  const std::size_t to = std::min(geometry_.rows, from + geometry_.segment_rows);
  const bool few = geometry_.tile_columns == geometry_.columns && geometry_.columns <= geometry_.block;
  if (!(few ? UnitRows(workspace, unit, from, to) : UnitTile(workspace, unit, from, to))) return;
  if (geometry_.segments > 1) return;
  const std::size_t column = unit % geometry_.tiles * geometry_.tile_columns;
  const std::size_t columns = std::min(geometry_.tile_columns, geometry_.columns - column);
  for (std::size_t i = 0; i < pass_.folds.size(); ++i) {
    Finish(i, workspace.states[i], unit / geometry_.tiles * geometry_.columns + column, columns);
  }
}

bool PassRun::RunUnits(CpuContext::Part part) {
  const std::size_t units = geometry_.units();
  if (geometry_.segments > 1) {
    for (const Folded& fold : pass_.folds) {
      kept_.push_back(
          std::make_unique_for_overwrite<std::byte[]>(units * geometry_.tile_columns * fold.accumulator->state_bytes));
    }
  }
  const std::size_t unit_elements = geometry_.segment_rows * geometry_.tile_columns;
  std::size_t at_once = std::max<std::size_t>(1, kChunkElements / unit_elements);
  if (geometry_.total * pass_.weight <= kSerialWork) at_once = units;
  const bool done = context_.ParallelChunks(
      units, at_once,
      [this](std::size_t begin, std::size_t end) {
        std::unique_ptr<Workspace> workspace = Take();
        for (std::size_t unit = begin; unit < end && !stopped_.load(std::memory_order_relaxed); ++unit) {
          Unit(*workspace, unit);
        }
#if defined(__x86_64__)
        _mm_sfence();  // other threads will read what was streamed
#endif
        GiveBack(std::move(workspace));
      },
      part);
  if (!done || stopped_.load() || geometry_.segments == 1) return done;
  for (std::size_t i = 0; i < pass_.folds.size(); ++i) {
    const Accumulator& accumulator = *pass_.folds[i].accumulator;
    const std::size_t bytes = geometry_.tile_columns * accumulator.state_bytes;
    for (std::size_t group = 0; group < units / geometry_.segments; ++group) {
      std::byte* const states = kept_[i].get() + group * geometry_.segments * bytes;
      const std::size_t column = group % geometry_.tiles * geometry_.tile_columns;
      const std::size_t columns = std::min(geometry_.tile_columns, geometry_.columns - column);
      for (std::size_t segment = 1; segment < geometry_.segments; ++segment) {
        accumulator.merge(states, states + segment * bytes, columns);
      }
      Finish(i, states, group / geometry_.tiles * geometry_.columns + column, columns);
    }
  }
  return true;
}

}  // namespace hotplate::expression
