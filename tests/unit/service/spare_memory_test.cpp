#include "server/spare_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/array/large_memory.h"
#include "kernels/devices/cpu/machine.h"

namespace hotplate::server {
namespace {

#ifndef HOTPLATE_SANITIZED  // their malloc keeps what is freed, to find who uses it

using std::chrono::seconds;

constexpr std::size_t kMiB = std::size_t{1} << 20;

void UseAndFree(std::size_t pieces, std::size_t bytes) {
  std::vector<void*> taken(pieces);
  for (void*& piece : taken) std::memset(piece = std::malloc(bytes), 1, bytes);
  for (void* const piece : taken) std::free(piece);
}

std::size_t Resident() { return cpu::ResidentBytes(); }

// What is wrong, by number; 0: nothing. In a process of its own, since malloc is the process's.
int WhatIsWrongWithTheHeap() {
  SpareMemory::Keep(64 * kMiB);
  SpareMemory spare;
  core::SteadyTime now = std::chrono::steady_clock::now();
  const std::size_t before = Resident();
  UseAndFree(12, kMiB);
  if (Resident() < before + 9 * kMiB) return 1;  // not kept
  spare.GiveBack(now, seconds(0));
  spare.GiveBack(now += seconds(2), seconds(1));
  if (Resident() < before + 9 * kMiB) return 2;  // given back while the daemon was in use
  spare.GiveBack(now += seconds(2), seconds(3));
  if (Resident() > before + 4 * kMiB) return 3;  // not given back
  UseAndFree(12, kMiB);
  spare.GiveBack(now += seconds(2), seconds(0));
  spare.GiveBack(now += seconds(2), seconds(3));
  if (Resident() > before + 4 * kMiB) return 4;  // the second time
  UseAndFree(12, kMiB);
  spare.GiveBack(now += seconds(20), seconds(0));
  if (Resident() < before + 9 * kMiB) return 5;  // given back while the daemon was in use
  spare.GiveBack(now += seconds(11), seconds(0));
  if (Resident() > before + 4 * kMiB) return 6;  // in use for half a minute, and not given back
  return 0;
}

int WhatIsWrongWithArrays() {
  SpareMemory::Keep(64 * kMiB);
  SpareMemory spare;
  core::SteadyTime now = std::chrono::steady_clock::now();
  std::byte* const array = AllocateLarge(16 * kMiB);
  std::memset(array, 1, 16 * kMiB);
  FreeLarge(array, 16 * kMiB);
  if (KeptLargeMemory() != 16 * kMiB) return 1;
  spare.GiveBack(now, seconds(0));
  for (int i = 0; i < 9; ++i) spare.GiveBack(now, seconds(0));
  if (KeptLargeMemory() != 16 * kMiB) return 2;  // no time has passed
  spare.GiveBack(now += seconds(2), seconds(0));
  if (KeptLargeMemory() != 0) return 3;  // nobody took it, though others use the daemon
  FreeLarge(AllocateLarge(65 * kMiB), 65 * kMiB);
  return KeptLargeMemory() == 0 ? 0 : 4;
}

TEST(SpareMemoryTest, TheHeapIsKeptUntilNobodyUsesTheDaemon) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(WhatIsWrongWithTheHeap()), testing::ExitedWithCode(0), "");
}

TEST(SpareMemoryTest, ArraysAreKeptForAMoment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(WhatIsWrongWithArrays()), testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace hotplate::server
