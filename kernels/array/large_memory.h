// Memory of whole huge pages, for large arrays: one page fault for 2 MiB instead of one for each 4 KiB.
//
// Freed memory can be kept for the next array of about the same size: clearing and mapping pages takes as long as a
// transfer.
#pragma once

#include <cstddef>

namespace hotplate {

// Aligned to a huge page, not zeroed; null if there is no such memory.
std::byte* AllocateLarge(std::size_t bytes);
// `bytes` as for the allocation.
void FreeLarge(std::byte* data, std::size_t bytes);

enum class Keeping {
  kNot,
  // Lent to the system (MADV_FREE), which may take it back at any time, like its file cache. For clients, whose use of
  // memory nobody measures.
  kLent,
  // Kept unchanged for a short time. For daemons, which measure free memory: Linux counts lent memory as available even
  // after it was written again, until it runs short of memory. This memory counts as in use and is reported
  // (KeptLargeMemory). It is unmapped to make room for new mappings, so that an array never needs more memory than
  // without it.
  kForAMoment,
};

// From now on the process keeps at most `most` freed bytes; none if addresses are limited (ulimit -v).
void KeepFreedLargeMemory(Keeping keeping, std::size_t most);

// Kept bytes that the system counts as in use (kForAMoment), although the next allocation may take them. Pages that
// were never written do not count.
std::size_t KeptLargeMemory();

// Unmaps kept memory that nobody has taken since the previous call. Call it every second or so.
void GiveBackIdleLargeMemory();

}  // namespace hotplate
