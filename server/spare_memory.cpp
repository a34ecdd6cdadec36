#include "server/spare_memory.h"

#include <malloc.h>

#include "kernels/array/large_memory.h"

namespace hotplate::server {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kLook = std::chrono::milliseconds(900);
constexpr nanoseconds kIdle = std::chrono::seconds(2);
constexpr nanoseconds kBusy = std::chrono::seconds(30);

// By default glibc returns free memory of 128 KiB and more at the end of an arena, and maps each large piece
// separately: of 64 MiB received in messages every second page was then new.
constexpr int kKeptOfAnArena = 64 << 20;
constexpr int kMappedByItselfFrom = 32 << 20;  // the largest accepted value

}  // namespace

void SpareMemory::Keep(std::uint64_t arrays) {
  mallopt(M_TRIM_THRESHOLD, kKeptOfAnArena);
  mallopt(M_MMAP_THRESHOLD, kMappedByItselfFrom);
  KeepFreedLargeMemory(Keeping::kForAMoment, arrays);
}

void SpareMemory::GiveBack(core::SteadyTime now, nanoseconds idle) {
  if (now - looked_ < kLook) return;
  looked_ = now;
  GiveBackIdleLargeMemory();
  const bool used = idle < now - trimmed_;  // since it was trimmed
  if (used && (idle >= kIdle || now - trimmed_ >= kBusy)) {
    malloc_trim(0);
    trimmed_ = now;
  }
}

}  // namespace hotplate::server
