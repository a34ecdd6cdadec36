// How work is cut into launches, blocks and chunks: plain arithmetic, so that tests without a GPU can check it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hotplate {

inline constexpr int kBlockSize = 256;

// The largest grid that a launch may have in x.
inline constexpr std::uint64_t kMaxGrid = 2'147'483'647;

constexpr std::uint64_t CeilDiv(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }
constexpr std::uint64_t RoundUp(std::uint64_t a, std::uint64_t b) { return CeilDiv(a, b) * b; }

// Blocks so that each thread has `per_thread` of n elements; bounded, so kernels walk their elements in strides of the
// grid. At least one: a grid of zero blocks is a launch error.
constexpr unsigned GridFor(std::uint64_t n, std::uint64_t per_thread = 1, std::uint64_t block_size = kBlockSize) {
  const std::uint64_t blocks = CeilDiv(CeilDiv(n, std::max<std::uint64_t>(per_thread, 1)), block_size);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(blocks, 1, kMaxGrid));
}

// Work cut into consecutive chunks [Begin(i), End(i)) of at most `size` items.
struct Chunks {
  std::uint64_t total = 0;
  std::uint64_t size = 1;

  constexpr std::uint64_t count() const { return CeilDiv(total, size); }
  constexpr std::uint64_t Begin(std::uint64_t i) const { return i * size; }
  constexpr std::uint64_t End(std::uint64_t i) const { return total - i * size < size ? total : i * size + size; }
};

// Chunks of items that cost up to `cost` units each, on a device that does `units_per_ms`, so that none takes longer
// than `bound_ms` (but an item is never cut), and each keeps the device busy: at least `floor` items.
constexpr Chunks ChunksWithin(std::uint64_t total, double cost, double units_per_ms, double bound_ms,
                              std::uint64_t floor) {
  const double items = units_per_ms * bound_ms / std::max(cost, 1.0);
  const double most = 9.0e18;  // below 2^63, where the conversion is still exact enough
  const std::uint64_t size = static_cast<std::uint64_t>(std::clamp(items, 1.0, most));
  return {total, std::max({size, floor, std::uint64_t{1}})};
}

// Where the parts of one block of memory begin: each on a multiple of kArenaAlignment bytes.
inline constexpr std::uint64_t kArenaAlignment = 256;

class Arena {
 public:
  // The next part's offset. False if the sum would not fit 64 bits.
  constexpr bool Add(std::uint64_t bytes, std::uint64_t* offset) {
    if (bytes > UINT64_MAX - kArenaAlignment) return false;
    const std::uint64_t padded = RoundUp(bytes, kArenaAlignment);
    if (padded > UINT64_MAX - bytes_) return false;
    *offset = bytes_;
    bytes_ += padded;
    return true;
  }
  constexpr std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

}  // namespace hotplate
