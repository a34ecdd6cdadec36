#include "kernels/array/large_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/base/mutex.h"

namespace hotplate {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Whole huge pages.
struct Piece {
  std::byte* data = nullptr;
  std::size_t length = 0;
  std::size_t resident = 0;  // bytes that the system has given pages to, of a kept one that counts as in use
  bool idle = false;         // it was there already when idle ones were given back
};

std::size_t LengthOf(std::size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

void Unmap(const Piece& piece) {
  if (piece.length > 0) munmap(piece.data, piece.length);
}

// Maps one huge page more and unmaps the excess on both sides.
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

// Bytes that are in memory: parts may never have been written. 0 if the system does not tell.
std::size_t ResidentOf(const Piece& piece) {
  static const std::size_t page = static_cast<std::size_t>(std::max(1L, sysconf(_SC_PAGESIZE)));
  std::array<unsigned char, 4096> pages;  // for that many pages: whether they are there
  std::size_t resident = 0;
  for (std::size_t at = 0; at < piece.length; at += pages.size() * page) {
    const std::size_t length = std::min(piece.length - at, pages.size() * page);
    if (mincore(piece.data + at, length, pages.data()) != 0) return 0;
    const auto there = std::count_if(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(length / page),
                                     [](unsigned char one) { return (one & 1) != 0; });
    resident += static_cast<std::size_t>(there) * page;
  }
  return resident;
}

bool AddressesAreLimited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// A thread that finds the lock taken does without: no thread waits, and a process forked while another thread held it
// goes on. Pages are unmapped after the lock is released, since that takes long.
class KeptPieces {
 public:
  void Set(Keeping keeping, std::size_t most) {
    most_ = most;
    keeping_ = keeping;
  }

  std::byte* Take(std::size_t length) {
    Piece found;
    {
      if (!mutex_.TryLock()) return nullptr;
      const MutexLock lock(mutex_, std::adopt_lock);
      Piece* best = nullptr;
      for (Piece* piece = pieces_.data(); piece != pieces_.data() + count_; ++piece) {
        const bool fits = piece->length >= length && piece->length <= length + length / 4;
        if (fits && (best == nullptr || piece->length < best->length)) best = piece;
      }
      if (best == nullptr) return nullptr;
      found = Remove(best);
    }
    Unmap({found.data + length, found.length - length});
    return found.data;
  }

  // False where it does not keep it.
  bool Keep(Piece piece) {
    const Keeping keeping = keeping_;
    if (keeping == Keeping::kNot || piece.length > most_ || AddressesAreLimited()) return false;
    // The pages stay until the system needs them or they are written again.
    if (keeping == Keeping::kLent && madvise(piece.data, piece.length, MADV_FREE) != 0) return false;
    if (keeping == Keeping::kForAMoment) piece.resident = ResidentOf(piece);
    Removed removed;
    {
      if (!mutex_.TryLock()) return false;
      const MutexLock lock(mutex_, std::adopt_lock);
      while (count_ == pieces_.size() || bytes_ + piece.length > most_) removed.Add(Remove(&pieces_[0]));
      pieces_[count_++] = piece;
      bytes_ += piece.length;
      resident_ += piece.resident;
    }
    return true;
  }

  // `length` bytes are to be mapped anew.
  void MakeRoom(std::size_t length) {
    if (keeping_ != Keeping::kForAMoment) return;
    Removed removed;
    if (!mutex_.TryLock()) return;
    const MutexLock lock(mutex_, std::adopt_lock);
    for (std::size_t gone = 0; count_ > 0 && gone < length;) gone += removed.Add(Remove(&pieces_[0]));
  }

  void UnmapAll() {
    Removed removed;
    if (!mutex_.TryLock()) return;
    const MutexLock lock(mutex_, std::adopt_lock);
    while (count_ > 0) removed.Add(Remove(&pieces_[0]));
  }

  void UnmapIdle() {
    Removed removed;
    if (!mutex_.TryLock()) return;
    const MutexLock lock(mutex_, std::adopt_lock);
    while (count_ > 0 && pieces_[0].idle) removed.Add(Remove(&pieces_[0]));
    for (std::size_t i = 0; i < count_; ++i) pieces_[i].idle = true;
  }

  std::size_t InUse() const { return keeping_ == Keeping::kForAMoment ? resident_.load() : 0; }

 private:
  static constexpr std::size_t kMostPieces = 16;

  // Unmapped by the destructor, which must run after the lock's.
  class Removed {
   public:
    ~Removed() {
      for (std::size_t i = 0; i < count_; ++i) Unmap(pieces_[i]);
    }
    std::size_t Add(const Piece& piece) {
      pieces_[count_++] = piece;
      return piece.resident;
    }

   private:
    std::array<Piece, kMostPieces> pieces_;
    std::size_t count_ = 0;
  };

  Piece Remove(Piece* piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Piece removed = *piece;
    bytes_ -= removed.length;
    resident_ -= removed.resident;
    std::move(piece + 1, pieces_.data() + count_, piece);
    --count_;
    return removed;
  }

  std::atomic<Keeping> keeping_ = Keeping::kNot;
  std::atomic<std::size_t> most_ = 0;
  Mutex mutex_;
  // The first `count_`, the oldest first.
  std::array<Piece, kMostPieces> pieces_ ABSL_GUARDED_BY(mutex_) = {};
  std::size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<std::size_t> resident_ = 0;  // changed under mutex_, and read without it
};

// The process's pieces. Needs no constructor and no destructor: buffers may outlive everything else.
constinit KeptPieces kept;
static_assert(std::is_trivially_destructible_v<KeptPieces>);

}  // namespace

void KeepFreedLargeMemory(Keeping keeping, std::size_t most) { kept.Set(keeping, most); }

std::size_t KeptLargeMemory() { return kept.InUse(); }

void GiveBackIdleLargeMemory() { kept.UnmapIdle(); }

std::byte* AllocateLarge(std::size_t bytes) {
  const std::size_t length = LengthOf(bytes);
  if (std::byte* const again = kept.Take(length)) return again;
  kept.MakeRoom(length);
  if (std::byte* const data = Map(length)) return data;
  kept.UnmapAll();  // addresses may have been limited since it was kept
  return Map(length);
}

void FreeLarge(std::byte* data, std::size_t bytes) {
  const Piece piece{data, LengthOf(bytes)};
  if (!kept.Keep(piece)) Unmap(piece);
}

}  // namespace hotplate
