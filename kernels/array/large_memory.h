// Memory of whole huge pages, for large arrays: one page fault for 2 MiB instead of one for each 4 KiB.
//
// What is freed is kept for the next array of about its size: to have pages cleared and mapped is a good part of what
// an upload takes, and of what a job with large results takes. The system may have it back at any time, and takes it
// before it swaps anything or ends anybody for want of memory.
#pragma once

#include <cstddef>

namespace hotplate {

// How much is kept at most, by the process.
inline constexpr std::size_t kMostLargeMemoryKept = std::size_t{512} << 20;

// From now on nothing is kept: for a process that others measure by the memory it has, kept or not.
void KeepNoLargeMemory();

// Aligned to a huge page, not zeroed; null where there is no such memory.
std::byte* AllocateLarge(std::size_t bytes);
// `bytes` as it was allocated.
void FreeLarge(std::byte* data, std::size_t bytes);

}  // namespace hotplate
