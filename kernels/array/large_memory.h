// Memory of whole huge pages, for large arrays: one page fault for 2 MiB instead of one for each 4 KiB.
//
// What is freed can be kept for the next array of about its size: to have pages cleared and mapped takes as long as a
// transfer itself.
#pragma once

#include <cstddef>

namespace hotplate {

// Aligned to a huge page, not zeroed; null where there is no such memory.
std::byte* AllocateLarge(std::size_t bytes);
// `bytes` as it was allocated.
void FreeLarge(std::byte* data, std::size_t bytes);

enum class Keeping {
  kNot,
  // Lent to the system (MADV_FREE), which may have it back at any time, as it may have its cache of files. For a
  // client, which is not asked how much memory it has.
  kLent,
  // As it was, and for a short time. For a daemon, which looks at how much memory there is and wants to know: what is
  // lent Linux counts as available also when it has been written again, until it looks at its pages for want of memory.
  // This counts as in use and is told (KeptLargeMemory); what is kept makes room for what is mapped anew, so that an
  // array never needs more memory than it would without.
  kForAMoment,
};

// From now on at most `most` bytes that were freed are kept by the process; nothing where addresses are limited
// (ulimit -v).
void KeepFreedLargeMemory(Keeping keeping, std::size_t most);

// Bytes that are kept and that the system counts as in use (kForAMoment), though the next allocation may have them. Of
// what was never written it has given none.
std::size_t KeptLargeMemory();

// Gives back what nobody has taken since the call before: to be called every second or so.
void GiveBackIdleLargeMemory();

}  // namespace hotplate
