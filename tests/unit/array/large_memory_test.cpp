#include "kernels/array/large_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hotplate {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// None where the system does not tell it.
std::optional<std::size_t> MemoryFigure(const std::string& file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string word; lines >> word;) {
    std::size_t kib = 0;
    if (word == key && lines >> kib) return kib * 1024;
  }
  return std::nullopt;
}

std::size_t MappedNow() { return MemoryFigure("/proc/self/status", "VmSize:").value_or(0); }

// What `work` returns there; -1 where it does not come to that.
int InAChild(int (*work)()) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// In a process of its own, in which nobody has asked for it.
TEST(LargeMemoryNotAskedForTest, IsNotKept) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::size_t before = MappedNow();
        FreeLarge(AllocateLarge(64 * kMiB), 64 * kMiB);
        _exit(MappedNow() < before + 32 * kMiB ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

constexpr std::size_t kMost = 512 * kMiB;

// With nothing kept.
class KeptMemory : public ::testing::TestWithParam<Keeping> {
 protected:
  void SetUp() override {
    KeepFreedLargeMemory(Keeping::kForAMoment, kMost);
    GiveBackIdleLargeMemory();
    GiveBackIdleLargeMemory();
    ASSERT_EQ(KeptLargeMemory(), 0u);
    KeepFreedLargeMemory(GetParam(), kMost);
  }
};

class LargeMemoryTest : public KeptMemory {};

INSTANTIATE_TEST_SUITE_P(BothWays, LargeMemoryTest, testing::Values(Keeping::kLent, Keeping::kForAMoment),
                         [](const auto& each) { return each.param == Keeping::kLent ? "Lent" : "ForAMoment"; });

TEST_P(LargeMemoryTest, WhatIsFreedIsUsedAgain) {
  std::byte* const first = AllocateLarge(64 * kMiB);
  ASSERT_NE(first, nullptr);
  std::memset(first, 1, 64 * kMiB);
  FreeLarge(first, 64 * kMiB);
  std::byte* const second = AllocateLarge(64 * kMiB - 1);
  EXPECT_EQ(second, first);
  std::byte* const beside = AllocateLarge(64 * kMiB);
  EXPECT_NE(beside, second) << "it is in use";
  std::memset(second, 2, 64 * kMiB - 1);
  std::memset(beside, 3, 64 * kMiB);
  EXPECT_EQ(second[64 * kMiB - 2], std::byte{2});
  FreeLarge(beside, 64 * kMiB);
  FreeLarge(second, 64 * kMiB - 1);
}

TEST_P(LargeMemoryTest, OfASmallerOneTheRestGoesBack) {
  std::byte* const first = AllocateLarge(64 * kMiB);
  const std::size_t with_all_of_it = MappedNow();
  FreeLarge(first, 64 * kMiB);
  const std::size_t kept = MappedNow();
  std::byte* const smaller = AllocateLarge(56 * kMiB);
  EXPECT_EQ(smaller, first);
  EXPECT_EQ(MappedNow() + 8 * kMiB, kept);
  std::byte* const much_smaller = AllocateLarge(8 * kMiB);
  FreeLarge(smaller, 56 * kMiB);
  EXPECT_NE(much_smaller, first);
  std::byte* const small_again = AllocateLarge(8 * kMiB);
  EXPECT_NE(small_again, first) << "a large piece is not for a small array";
  EXPECT_LT(MappedNow(), with_all_of_it + 64 * kMiB);
  FreeLarge(small_again, 8 * kMiB);
  FreeLarge(much_smaller, 8 * kMiB);
}

TEST_P(LargeMemoryTest, NoMoreIsKeptThanItSays) {
  const std::size_t before = MappedNow();
  for (const auto& [size, count] : {std::pair(2 * kMiB, std::size_t{20}), std::pair(64 * kMiB, std::size_t{20}),
                                    std::pair(2 * kMost, std::size_t{2})}) {
    std::vector<std::byte*> pieces(count);
    for (std::byte*& piece : pieces) ASSERT_NE(piece = AllocateLarge(size), nullptr);
    EXPECT_GE(MappedNow(), before + (count - 1) * size);
    for (std::byte* const piece : pieces) FreeLarge(piece, size);
    EXPECT_LE(MappedNow(), before + kMost + 2 * kMiB) << size;
  }
}

TEST_P(LargeMemoryTest, WhatNobodyTakesIsGivenBack) {
  const std::size_t before = MappedNow();
  FreeLarge(AllocateLarge(64 * kMiB), 64 * kMiB);
  GiveBackIdleLargeMemory();
  FreeLarge(AllocateLarge(8 * kMiB), 8 * kMiB);
  EXPECT_GE(MappedNow(), before + 8 * kMiB) << "it has just come";
  GiveBackIdleLargeMemory();
  EXPECT_LT(MappedNow(), before + 16 * kMiB) << "the older one";
  GiveBackIdleLargeMemory();
  EXPECT_LT(MappedNow(), before + 2 * kMiB);
}

TEST_P(LargeMemoryTest, WhatIsKeptGoesWhenAddressesAreLimitedLater) {
  EXPECT_EQ(InAChild([] {
              FreeLarge(AllocateLarge(400 * kMiB), 400 * kMiB);
              const rlimit limit{MappedNow() + 100 * kMiB, MappedNow() + 100 * kMiB};
              if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
              if (AllocateLarge(300 * kMiB) == nullptr) return 3;
              return AllocateLarge(300 * kMiB) == nullptr ? 0 : 4;
            }),
            0);
}

TEST_P(LargeMemoryTest, WhereAddressesAreLimitedNothingIsKept) {
  EXPECT_EQ(InAChild([] {
              const std::size_t before = MappedNow();
              const rlimit limit{before + 2048 * kMiB, before + 2048 * kMiB};
              if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
              FreeLarge(AllocateLarge(64 * kMiB), 64 * kMiB);
              return MappedNow() < before + 32 * kMiB ? 0 : 3;
            }),
            0);
}

TEST_P(LargeMemoryTest, ThreadsShareIt) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int number = 1; number <= 4; ++number) {
    threads.emplace_back([number, &wrong] {
      for (int i = 0; i < 200; ++i) {
        const std::size_t bytes = (2 + static_cast<std::size_t>(i + number) % 5) * kMiB;
        std::byte* const data = AllocateLarge(bytes);
        if (data == nullptr) {
          ++wrong;
          continue;
        }
        for (std::size_t at = 0; at < bytes; at += 4096) data[at] = static_cast<std::byte>(number);
        std::this_thread::yield();
        for (std::size_t at = 0; at < bytes; at += 4096) wrong += data[at] == static_cast<std::byte>(number) ? 0 : 1;
        FreeLarge(data, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

class LentMemoryTest : public KeptMemory {};

INSTANTIATE_TEST_SUITE_P(, LentMemoryTest, testing::Values(Keeping::kLent));

TEST_P(LentMemoryTest, TheSystemMayTakeIt) {
  const char* const file = "/proc/self/smaps_rollup";
  if (!MemoryFigure(file, "LazyFree:")) GTEST_SKIP() << "this system does not tell it in " << file;
  // In the process, and not for the system to take, as it does at once where memory is short.
  const auto held = [file] { return *MemoryFigure(file, "Anonymous:") - *MemoryFigure(file, "LazyFree:"); };
  const std::size_t before = held();
  std::byte* const data = AllocateLarge(64 * kMiB);
  std::memset(data, 1, 64 * kMiB);
  EXPECT_GE(held(), before + 60 * kMiB);
  FreeLarge(data, 64 * kMiB);
  EXPECT_LT(held(), before + 4 * kMiB);
  EXPECT_EQ(KeptLargeMemory(), 0u) << "it does not count as in use";
}

class MemoryKeptForAMomentTest : public KeptMemory {};

INSTANTIATE_TEST_SUITE_P(, MemoryKeptForAMomentTest, testing::Values(Keeping::kForAMoment));

TEST_P(MemoryKeptForAMomentTest, IsToldAndMakesRoomForWhatIsMappedAnew) {
  std::array<std::byte*, 3> pieces = {};
  for (std::byte*& piece : pieces) std::memset(piece = AllocateLarge(64 * kMiB), 1, 64 * kMiB);
  for (std::byte* const piece : pieces) FreeLarge(piece, 64 * kMiB);
  EXPECT_EQ(KeptLargeMemory(), 192 * kMiB);
  const std::size_t mapped = MappedNow();
  std::byte* const other = AllocateLarge(100 * kMiB);
  EXPECT_EQ(KeptLargeMemory(), 64 * kMiB) << "two pieces had to go for as much";
  EXPECT_LE(MappedNow(), mapped);
  std::byte* const again = AllocateLarge(64 * kMiB);
  EXPECT_EQ(again, pieces[2]) << "the youngest was left";
  EXPECT_EQ(KeptLargeMemory(), 0u);
  FreeLarge(other, 100 * kMiB);
  EXPECT_EQ(KeptLargeMemory(), 0u) << "nobody has written there";
  FreeLarge(again, 64 * kMiB);
  EXPECT_EQ(KeptLargeMemory(), 64 * kMiB);
}

// An upload that broke off has written a part, in whole huge pages or not.
TEST_P(MemoryKeptForAMomentTest, CountsWhatWasWritten) {
  std::byte* const data = AllocateLarge(64 * kMiB);
  std::memset(data, 1, 5 * kMiB);
  FreeLarge(data, 64 * kMiB);
  EXPECT_GE(KeptLargeMemory(), 5 * kMiB);
  EXPECT_LE(KeptLargeMemory(), 6 * kMiB);
}

}  // namespace
}  // namespace hotplate
