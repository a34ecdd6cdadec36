// How sorted rows are cut, and the scratch that takes: plain arithmetic, for a plan too.
#pragma once

#include "kernels/catalogue/sort/radix_cuda.h"

namespace hotplate::groupby_sum {

// Sorted rows summed by one thread, as many as a warp has lanes; and those of a block of threads.
inline constexpr std::uint64_t kRun = 32, kTile = kRun * kBlockSize;

struct Run {
  std::uint32_t heads;   // a bit to each row: a key begins there
  std::uint32_t before;  // keys that begin before the run
};

// Offsets into scratch.
struct Scratch {
  sort::Scratch sort;
  std::uint64_t runs = 0, tiles = 0, groups = 0, starts = 0, partials = 0, carries = 0, bytes = 0;
};

inline Scratch LayOut(std::uint64_t n, std::uint64_t key_bytes) {
  Scratch layout{.sort = sort::LayOut(n, key_bytes, 4)};
  Arena arena;
  std::uint64_t sorting = 0;
  // Cannot overflow: arrays of n elements exist.
  static_cast<void>(arena.Add(layout.sort.bytes, &sorting));
  static_cast<void>(arena.Add(CeilDiv(n, kRun) * sizeof(Run), &layout.runs));
  static_cast<void>(arena.Add(CeilDiv(n, kTile) * 4, &layout.tiles));
  static_cast<void>(arena.Add(8, &layout.groups));
  static_cast<void>(arena.Add(n * 4, &layout.starts));
  static_cast<void>(arena.Add(n * 8, &layout.partials));
  static_cast<void>(arena.Add(CeilDiv(n, kRun) * 8, &layout.carries));
  layout.bytes = arena.bytes();
  return layout;
}

}  // namespace hotplate::groupby_sum
