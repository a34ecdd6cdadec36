#include "server/core/jobs/job_numbers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace hotplate::core {
namespace {

TEST(JobNumbersTest, ByThemselvesTheyCountFromOne) {
  JobNumbers numbers({}, nullptr);
  EXPECT_EQ(numbers.last_taken(), 0u);
  for (std::uint64_t i = 1; i < 300; ++i) {
    ASSERT_TRUE(numbers.Await().ok());
    EXPECT_EQ(numbers.Take(), i);
  }
  EXPECT_EQ(numbers.last_taken(), 299u);
}

TEST(JobNumbersTest, AFloodFromManyThreadsGetsNumbersOfItsOwn) {
  std::uint64_t next = 101;
  std::atomic<int> claims{0};
  JobNumbers numbers({1, 100}, [&](std::uint64_t size) -> absl::StatusOr<NumberBlock> {
    ++claims;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // a slow file system
    const NumberBlock block{next + 7, next + 6 + size};         // another daemon has had some
    next = block.last + 1;
    return block;
  });
  constexpr int kThreads = 8, kEach = 20'000;
  std::vector<std::vector<std::uint64_t>> taken(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&numbers, &mine] {
      while (mine.size() < kEach) {
        ASSERT_TRUE(numbers.Await().ok());
        if (const std::uint64_t number = numbers.Take(); number != 0) mine.push_back(number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> all;
  for (const auto& mine : taken) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kThreads * kEach));
  EXPECT_LT(claims.load(), 10) << "blocks grow";
}

TEST(JobNumbersTest, NothingIsClaimedBeforeMostAreUsed) {
  std::atomic<int> claims{0};
  JobNumbers numbers({1, 100}, [&](std::uint64_t) -> absl::StatusOr<NumberBlock> {
    ++claims;
    return NumberBlock{101, 500};
  });
  for (int i = 0; i < 60; ++i) numbers.Take();
  EXPECT_EQ(claims.load(), 0);
  for (int i = 0; i < 40; ++i) numbers.Take();
  ASSERT_TRUE(numbers.Await().ok());
  EXPECT_EQ(claims.load(), 1);
  EXPECT_EQ(numbers.Take(), 101u);
}

// A block that grew with each failed try would be past all numbers by the time the disk has room again.
TEST(JobNumbersTest, FailedTriesDoNotMakeTheNextBlockLarger) {
  std::atomic<int> tries{0};
  std::atomic<std::uint64_t> claimed{0};
  JobNumbers numbers({1, 4}, [&](std::uint64_t size) -> absl::StatusOr<NumberBlock> {
    if (++tries < 3) return absl::FailedPreconditionError("the disk is full");
    claimed = size;
    return NumberBlock{5, 4 + size};
  });
  for (int i = 0; i < 4; ++i) numbers.Take();
  while (claimed == 0) std::this_thread::yield();
  EXPECT_EQ(claimed, 4 * JobNumbers::kFirstSize);
}

// Few numbers left over by the daemon before: the next block is asked for by whoever waits for it.
TEST(JobNumbersTest, AFirstBlockOfFewIsEnoughToBegin) {
  std::atomic<bool> claimed{false};
  JobNumbers numbers({96, 100}, [&](std::uint64_t) -> absl::StatusOr<NumberBlock> {
    claimed = true;
    return NumberBlock{101, 500};
  });
  ASSERT_TRUE(numbers.Await().ok());
  EXPECT_TRUE(claimed) << "it did not wait for a block that nobody had asked for";
  EXPECT_EQ(numbers.Take(), 96u);
}

TEST(JobNumbersTest, WhyThereAreNoneIsSaidAndTriedAgain) {
  std::atomic<bool> broken{true};
  JobNumbers numbers({1, 20}, [&](std::uint64_t) -> absl::StatusOr<NumberBlock> {
    if (broken) return absl::FailedPreconditionError("the disk is full");
    return NumberBlock{21, 100};
  });
  for (int i = 0; i < 20; ++i) EXPECT_NE(numbers.Take(), 0u) << "what there is can be used";
  EXPECT_EQ(numbers.Take(), 0u);
  const absl::Status status = numbers.Await();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(status.message()).find("the disk is full"), std::string::npos) << status.ToString();
  broken = false;
  while (!numbers.Await().ok()) std::this_thread::yield();
  EXPECT_EQ(numbers.Take(), 21u);
}

}  // namespace
}  // namespace hotplate::core
