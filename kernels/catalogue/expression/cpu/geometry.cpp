#include "kernels/catalogue/expression/cpu/geometry.h"

#include <algorithm>

namespace hotplate::expression {
namespace {

// Units of work: enough for the threads of a large machine, each of at least some elements.
constexpr std::size_t kUnits = 128, kUnitElements = 65'536;

std::size_t DivideUp(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
std::size_t MultipleUp(std::size_t a, std::size_t of) { return DivideUp(a, of) * of; }

// The largest block of at most `most` elements such that a line has equally long ones, but for the last.
std::size_t EvenBlock(std::size_t line, std::size_t most) {
  constexpr std::size_t kWhole = 16;  // no vector is larger
  if (line <= most) return line;
  return std::min(most, MultipleUp(DivideUp(line, DivideUp(line, most)), kWhole));
}

}  // namespace

Geometry::Geometry(const Shape& space, const std::vector<int>* reduced_axes, std::size_t most,
                   const std::vector<Access*>& accesses) {
  enum Part { kOuter, kRows, kColumns };
  const std::vector<int> reduced = reduced_axes == nullptr ? std::vector<int>{} : *reduced_axes;
  const int last_reduced = reduced.empty() ? -1 : reduced.back();
  const auto part_of = [&](int axis) {
    if (std::find(reduced.begin(), reduced.end(), axis) != reduced.end()) return kRows;
    return axis < last_reduced ? kOuter : kColumns;
  };
  std::vector<int> order;
  for (const Part part : {kOuter, kRows, kColumns}) {
    for (int axis = 0; axis < static_cast<int>(space.size()); ++axis) {
      const std::size_t size = static_cast<std::size_t>(space[static_cast<std::size_t>(axis)]);
      if (part_of(axis) != part) continue;
      (part == kOuter ? outer : part == kRows ? rows : columns) *= size;
      if (size != 1) order.push_back(axis);
    }
  }
  total = outer * rows * columns;

  std::vector<std::array<std::int64_t, kMaxRank>> strides(accesses.size());
  rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t axis = static_cast<std::size_t>(order[i]);
    const std::int64_t size = space[axis];
    const std::size_t before = static_cast<std::size_t>(rank) - 1;
    bool as_one = rank > 0 && part_of(order[i - 1]) == part_of(order[i]);
    for (std::size_t j = 0; as_one && j < accesses.size(); ++j) {
      as_one = strides[j][before] == accesses[j]->strides[axis] * size;
    }
    const std::size_t at = as_one ? before : static_cast<std::size_t>(rank++);
    sizes[at] = as_one ? sizes[at] * size : size;
    for (std::size_t j = 0; j < accesses.size(); ++j) strides[j][at] = accesses[j]->strides[axis];
  }
  if (rank == 0) {
    rank = 1;
    sizes[0] = 1;
    for (std::array<std::int64_t, kMaxRank>& one : strides) one[0] = 1;
  }
  for (std::size_t j = 0; j < accesses.size(); ++j) accesses[j]->strides = strides[j];

  line = static_cast<std::size_t>(sizes[static_cast<std::size_t>(rank) - 1]);
  if (total == 0) return;
  CutBlocks(most);
  if (reduced_axes != nullptr) CutUnits(most);
}

void Geometry::CutBlocks(std::size_t most) {
  spanning = rank > 1 && line <= most / 2;
  block = spanning ? most / line * line : EvenBlock(line, most);
}

void Geometry::CutUnits(std::size_t most) {
  const std::size_t group = rows * columns;
  if (outer > 1 && group <= most / 2) {
    short_rows = true;
    // A group of several elements is made of whole lines; one of a single element is a part of a line.
    if (group > 1) block = most / group * group;
    return;
  }
  std::size_t whole_rows = 1;  // begin on borders of blocks
  if (columns <= most / 2) {
    tile_columns = columns;
    if (columns > 1) block = most / columns * columns;
    whole_rows = block / columns;
  } else {
    tile_columns = std::min(columns, spanning ? kTileColumns / line * line : kTileColumns);
    tiles = DivideUp(columns, tile_columns);
  }
  const std::size_t wanted = DivideUp(kUnits, outer * tiles);
  const std::size_t worth = std::max<std::size_t>(1, rows * tile_columns / kUnitElements);
  segment_rows = MultipleUp(DivideUp(rows, std::min(wanted, worth)), whole_rows);
  segments = DivideUp(rows, segment_rows);
}

bool Geometry::IsFlat(const Access& access) const {
  std::int64_t expected = 1;
  for (std::size_t axis = static_cast<std::size_t>(rank); axis-- > 0; expected *= sizes[axis]) {
    if (access.strides[axis] != expected) return false;
  }
  return true;
}

}  // namespace hotplate::expression
