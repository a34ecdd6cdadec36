#include "server/spare_memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "kernels/array/large_memory.h"

namespace hotplate::server {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kLook = std::chrono::milliseconds(900);
constexpr nanoseconds kIdle = std::chrono::seconds(2);
constexpr nanoseconds kBusy = std::chrono::seconds(30);

// By default glibc returns free memory of 128 KiB and more at the end of an arena, and maps each large piece
// separately: of 64 MiB received in messages every second page was then new.
// malloc_trim leaves this much at the end of every arena but the first.
constexpr int kKeptOfAnArena = 16 << 20;
constexpr int kArenas = 4;
constexpr int kMappedByItselfFrom = 32 << 20;  // the largest accepted value
constexpr std::uint64_t kWorthATrim = 16 << 20;

// Bytes of this process in memory that are not in use on the heap: code, arrays, and what can be returned. malloc's own
// count of what is free has the pages, too, that it has returned. 0 if the system does not tell.
std::uint64_t Unused() {
  std::uint64_t mapped = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> mapped >> resident;
  resident *= static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return resident - std::min<std::uint64_t>(resident, mallinfo2().uordblks);
}

}  // namespace

void SpareMemory::Keep(std::uint64_t arrays) {
  mallopt(M_ARENA_MAX, kArenas);
  mallopt(M_TRIM_THRESHOLD, kKeptOfAnArena);
  mallopt(M_MMAP_THRESHOLD, kMappedByItselfFrom);
  KeepFreedLargeMemory(Keeping::kForAMoment, arrays);
}

void SpareMemory::GiveBack(core::SteadyTime now, nanoseconds idle) {
  if (now - looked_ < kLook) return;
  looked_ = now;
  GiveBackIdleLargeMemory();
  if (idle < kIdle && now - trimmed_ < kBusy) return;
  const std::uint64_t unused = Unused();
  least_ = std::min(least_, unused);
  const bool used = idle < now - trimmed_;  // since it was trimmed
  if (!used && unused < least_ + kWorthATrim) return;
  malloc_trim(0);
  trimmed_ = now;
  least_ = Unused();
}

}  // namespace hotplate::server
