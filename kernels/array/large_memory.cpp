#include "kernels/array/large_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <type_traits>

namespace hotplate {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Whole huge pages.
struct Piece {
  std::byte* data = nullptr;
  std::size_t length = 0;
};

std::size_t LengthOf(std::size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

void Unmap(const Piece& piece) {
  if (piece.length > 0) munmap(piece.data, piece.length);
}

// Maps one huge page more, and gives back what sticks out on both sides.
std::byte* Map(std::size_t length) {
  void* const mapping = mmap(nullptr, length + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(mapping);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(first) % kHugePage) % kHugePage;
  if (before > 0) munmap(first, before);
  if (before < kHugePage) munmap(first + before + length, kHugePage - before);
  madvise(first + before, length, MADV_HUGEPAGE);  // a wish: without it the memory is as good, only slower to touch
  return first + before;
}

bool AddressesAreLimited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// Whoever finds the lock taken does without: no thread waits, and a process that was forked while another thread had it
// goes on.
class KeptPieces {
 public:
  void TurnOn() { on_ = true; }

  std::byte* Take(std::size_t length) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return nullptr;
    Piece* best = nullptr;
    for (Piece& piece : pieces_) {
      const bool fits = piece.length >= length && piece.length <= length + length / 4;
      if (fits && (best == nullptr || piece.length < best->length)) best = &piece;
    }
    if (best == nullptr) return nullptr;
    const Piece found = *best;
    Remove(best);
    Unmap({found.data + length, found.length - length});
    return found.data;
  }

  // False where it does not keep it.
  bool Keep(const Piece& piece) {
    if (!on_ || piece.length > kMostLargeMemoryKept || AddressesAreLimited()) return false;
    // Its pages stay as they are until the system needs them, or they are written again.
    if (madvise(piece.data, piece.length, MADV_FREE) != 0) return false;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    while (count_ == pieces_.size() || bytes_ + piece.length > kMostLargeMemoryKept) UnmapOldest();
    pieces_[count_++] = piece;
    bytes_ += piece.length;
    return true;
  }

  void UnmapAll() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    while (lock && count_ > 0) UnmapOldest();
  }

 private:
  void UnmapOldest() {
    Unmap(pieces_[0]);
    Remove(&pieces_[0]);
  }

  void Remove(Piece* piece) {
    bytes_ -= piece->length;
    std::move(piece + 1, pieces_.data() + count_, piece);
    pieces_[--count_] = {};
  }

  std::atomic<bool> on_ = false;
  std::mutex mutex_;
  // Guarded by mutex_: the first `count_`, the oldest first.
  std::array<Piece, 16> pieces_ = {};
  std::size_t count_ = 0, bytes_ = 0;
};

// The process's. Nothing has to be made at first, nor is anything destroyed: buffers may outlive whatever is.
constinit KeptPieces kept;
static_assert(std::is_trivially_destructible_v<KeptPieces>);

}  // namespace

void KeepFreedLargeMemory() { kept.TurnOn(); }

std::byte* AllocateLarge(std::size_t bytes) {
  const std::size_t length = LengthOf(bytes);
  if (std::byte* const again = kept.Take(length)) return again;
  if (std::byte* const data = Map(length)) return data;
  kept.UnmapAll();  // addresses may have been limited since it was kept
  return Map(length);
}

void FreeLarge(std::byte* data, std::size_t bytes) {
  const Piece piece{data, LengthOf(bytes)};
  if (!kept.Keep(piece)) Unmap(piece);
}

}  // namespace hotplate
