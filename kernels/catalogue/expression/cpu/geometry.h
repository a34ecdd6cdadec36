// How the places of a Program are walked: which axes come first, which are one, and into which blocks they are cut. The
// cuts depend on sizes only, so that results are the same with any number of threads.
//
// Places are walked in this order of axes, each part in the order of the space: kept axes before the last reduced one,
// reduced axes, kept axes after it. A place's position in this order is
// (outer * rows + row) * columns + column: each (outer, column) is one result of a reduction, of `rows` elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/array/shape.h"

namespace hotplate::expression {

// An array as a function of the place: offset + sum of index[axis] * strides[axis]. First along the axes of the space,
// then, after Geometry's constructor, along its own.
struct Access {
  std::int64_t offset = 0;
  std::array<std::int64_t, kMaxRank> strides = {};
};

struct Geometry {
  // Merges neighbouring axes that all accesses walk as one, and rewrites their strides. `reduced_axes`: of the space,
  // ascending; null for a pass without a reduction. `block`: most elements of a block.
  Geometry(const Shape& space, const std::vector<int>* reduced_axes, std::size_t block,
           const std::vector<Access*>& accesses);

  int rank = 1;  // at least 1
  std::array<std::int64_t, kMaxRank> sizes = {};
  std::size_t outer = 1, rows = 1, columns = 1;
  std::size_t total = 1;

  std::size_t line = 1;   // the size of the last axis
  std::size_t block = 1;  // elements of a block; short lines: a multiple of the line
  // Lines are so short that a block has several; otherwise each block is in one line.
  bool spanning = false;

  // The results of a reduction are so short that a block has several, whole ones.
  bool short_rows = false;
  // Otherwise a unit of work is some rows, [segment * segment_rows, …), of some columns, [tile * tile_columns, …).
  std::size_t tile_columns = 1, tiles = 1;
  std::size_t segment_rows = 1, segments = 1;
  std::size_t units() const { return outer * tiles * segments; }

  // Positions as they are, or any others that are walked in the same order.
  bool IsFlat(const Access& access) const;

 private:
  void CutBlocks(std::size_t most);
  void CutUnits(std::size_t most);
};

// Columns of a tile; also the most lanes of an accumulator.
inline constexpr std::size_t kTileColumns = 2048;

}  // namespace hotplate::expression
