// How rows are put to CUB's radix sort, and how much scratch that takes: plain arithmetic, tested without a GPU.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/call/call.h"
#include "kernels/call/host_device.h"
#include "kernels/catalogue/sort/sort_order.h"
#include "kernels/devices/cuda/code/grid.h"
#include "kernels/devices/cuda/code/traits.h"

namespace hotplate::sort {

struct Rows {
  std::uint64_t count = 0, length = 0;
  // Above 1, rows are lines along an axis with so many elements behind it: those of a row lie this far apart.
  std::uint64_t inner = 1;

  HOTPLATE_HOST_DEVICE std::uint64_t elements() const { return count * length; }
  // Where element i lies: elements are numbered row by row.
  HOTPLATE_HOST_DEVICE std::uint64_t Place(std::uint64_t i) const {
    if (inner == 1) return i;
    const std::uint64_t row = i / length;
    return (row / inner * length + i % length) * inner + row % inner;
  }
  // The bits of a row's number.
  int bits() const { return count <= 1 ? 0 : std::bit_width(count - 1); }
};

inline Rows RowsOf(const hotplate_array& array) {
  Rows rows{1, static_cast<std::uint64_t>(array.shape[array.rank - 1]), 1};
  for (int i = 0; i + 1 < array.rank; ++i) rows.count *= static_cast<std::uint64_t>(array.shape[i]);
  return rows;
}

// Upper bound on the workspace of CUB's onesweep sort beside two buffers of n elements, with the smallest tiles: the
// tiles' look-back, for portions of up to 2^28 elements, and a histogram for each digit of each portion.
inline std::uint64_t WorkspaceBytes(std::uint64_t n) {
  constexpr std::uint64_t kDigits = 256, kPortion = std::uint64_t{1} << 28, kSmallestTile = 1024;
  const std::uint64_t look_back = (std::min(n, kPortion) / kSmallestTile + 1) * kDigits * 4;
  return RoundUp(look_back + (n / (kPortion / 2) + 1) * 8 * (kDigits * 8 + 4), kArenaAlignment) + 8192;
}

// Offsets into scratch: two buffers of keys, two of indices, CUB's workspace.
struct Scratch {
  std::uint64_t keys[2] = {}, indices[2] = {}, workspace = 0, workspace_bytes = 0, bytes = 0;
};

inline Scratch LayOut(std::uint64_t n, std::uint64_t key_bytes, std::uint64_t index_bytes) {
  Scratch layout;
  layout.workspace_bytes = WorkspaceBytes(n);
  Arena arena;
  // Cannot overflow: an array of n elements exists.
  for (std::uint64_t& offset : layout.keys) static_cast<void>(arena.Add(n * key_bytes, &offset));
  for (std::uint64_t& offset : layout.indices) static_cast<void>(arena.Add(n * index_bytes, &offset));
  static_cast<void>(arena.Add(layout.workspace_bytes, &layout.workspace));
  layout.bytes = arena.bytes();
  return layout;
}

// Long rows are sorted one after the other, as they are; shorter ones all at once, by row and key.
inline bool OneByOne(const Rows& rows) { return rows.count == 1 || rows.length >= kLongRow; }

// sort's scratch. One by one: keys of one row, in turns with the output's memory, or with as much where elements are
// shorter than keys. All at once: keys of 32 bits with the row above them; of 64 bits by index.
inline Scratch LayOutSort(const Rows& rows, std::uint64_t element_bytes) {
  if (!OneByOne(rows)) return LayOut(rows.elements(), 8, element_bytes == 8 ? 4 : 0);
  Scratch layout = LayOut(rows.length, 0, 0);
  Arena arena;
  const std::uint64_t key_bytes = element_bytes == 8 ? 8 : 4;
  static_cast<void>(arena.Add(rows.length * key_bytes, &layout.keys[0]));
  static_cast<void>(arena.Add(element_bytes < 4 ? rows.length * key_bytes : 0, &layout.keys[1]));
  static_cast<void>(arena.Add(layout.workspace_bytes, &layout.workspace));
  layout.bytes = arena.bytes();
  return layout;
}

// sort_by_key's and argsort's: keys of 32 bits have their row above them if there is more than one.
inline Scratch LayOutPairs(const Rows& rows, std::uint64_t element_bytes) {
  return LayOut(rows.elements(), rows.count == 1 && element_bytes <= 4 ? 4 : 8, 4);
}

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

}  // namespace hotplate::sort
