// Memory of whole huge pages, for large arrays: one page fault for 2 MiB instead of one for each 4 KiB.
//
// A client keeps what is freed for the next array of about its size: to have pages cleared and mapped takes as long as
// the transfer itself. The system may have it back at any time, as it may have its cache of files.
#pragma once

#include <cstddef>

namespace hotplate {

// Aligned to a huge page, not zeroed; null where there is no such memory.
std::byte* AllocateLarge(std::size_t bytes);
// `bytes` as it was allocated.
void FreeLarge(std::byte* data, std::size_t bytes);

// How much is kept at most, by the process.
inline constexpr std::size_t kMostLargeMemoryKept = std::size_t{512} << 20;

// From now on freed memory is kept, but where addresses are limited (ulimit -v). Not for a daemon, which looks at how
// much memory there is: Linux counts memory that was lent to it like this (MADV_FREE) as available, also when it has
// been written again, until it looks at its pages for want of memory.
void KeepFreedLargeMemory();

}  // namespace hotplate
