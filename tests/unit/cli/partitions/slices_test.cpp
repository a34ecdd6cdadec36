// Reading accounting in slices: whatever sacct bears, each start comes once, and what was read is not read again.
#include "client/cli/partitions/slices.h"

#include <gmock/gmock.h>

#include <map>

#include "client/cli/partitions/since.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using testing::HasSubstr;

constexpr EpochSeconds kHour = 3600, kDay = 24 * kHour;
// In the afternoon of a day.
constexpr EpochSeconds kNow = 20'000 * kDay + 14 * kHour + 1234;

class SlicesTest : public testing::Test {
 protected:
  // One start every ten minutes, all of them in the accounting of the world.
  absl::StatusOr<SliceJobs> Read(EpochSeconds from, EpochSeconds to) {
    calls_.emplace_back(from, to);
    if (fail_at_ <= from) return fail_with_;
    if (to - from > bears_) return absl::DeadlineExceededError("sacct had no answer within 30 s");
    SliceJobs jobs;
    for (EpochSeconds start = (from + 599) / 600 * 600; start < to; start += 600)
      jobs.starts.push_back({.partition = "gpu",
                             .start = start,
                             .wait = start % 1000,
                             .cpus = 1,
                             .minutes = 60,
                             .memory_mib = 1,
                             .gpus = 0});
    jobs.waiting["gpu"] = to;
    return jobs;
  }

  absl::Status Walk(EpochSeconds since, EpochSeconds now = kNow) {
    calls_.clear();
    taken_.clear();
    double done = -1;
    SliceCache cache(folder_.path() + "/cache", "lab", now);
    const absl::Status status =
        ReadSlices({.since = since,
                    .now = now,
                    .read = [this](EpochSeconds from, EpochSeconds to) { return Read(from, to); },
                    .take =
                        [this](const SliceJobs& jobs, bool last) {
                          for (const JobStart& job : jobs.starts) ++taken_[job.start];
                          if (last) waiting_ = jobs.waiting;
                        },
                    .on_step =
                        [&done](const SliceStep& step) {
                          EXPECT_GE(step.done, done);
                          EXPECT_LT(step.done, 1);
                          done = step.done;
                        }},
                   cache);
    if (status.ok()) {
      for (EpochSeconds start = (FirstSlice(since, now) + 599) / 600 * 600; start < now; start += 600)
        EXPECT_EQ(taken_[start], 1) << "the start at " << start;
      EXPECT_EQ(waiting_["gpu"], now) << "who waits now is in the slice that ends now";
    }
    return status;
  }

  EpochSeconds bears_ = 1000 * kDay;
  EpochSeconds fail_at_ = 2 * kNow;
  absl::Status fail_with_;
  std::vector<std::pair<EpochSeconds, EpochSeconds>> calls_;
  std::map<EpochSeconds, int> taken_;
  std::map<std::string, std::int64_t> waiting_;
  TemporaryFolder folder_;
};

TEST_F(SlicesTest, ADayAtATimeAndTheLastHoursAlone) {
  ASSERT_TRUE(Walk(kNow - 7 * kDay).ok());
  ASSERT_EQ(calls_.size(), 9u) << "seven whole days, the hours of today that are settled, and the rest";
  EXPECT_EQ(calls_[0].first, 19'993 * kDay);
  EXPECT_EQ(calls_[0].second, 19'994 * kDay);
  EXPECT_EQ(calls_[7], std::pair(20'000 * kDay, 20'000 * kDay + 13 * kHour));
  EXPECT_EQ(calls_[8], std::pair(20'000 * kDay + 13 * kHour, kNow));
}

TEST_F(SlicesTest, WhatIsSettledIsReadOnce) {
  ASSERT_TRUE(Walk(kNow - 7 * kDay).ok());
  ASSERT_TRUE(Walk(kNow - 7 * kDay).ok());
  EXPECT_EQ(calls_.size(), 1u) << "what contains now is read each time";
  ASSERT_TRUE(Walk(kNow - 7 * kDay, kNow + 3 * kHour).ok());
  EXPECT_EQ(calls_.size(), 2u);
  EXPECT_EQ(calls_[0].first, 20'000 * kDay + 13 * kHour);
  ASSERT_TRUE(Walk(kNow - 3 * kDay, kNow + 3 * kHour).ok());
  EXPECT_EQ(calls_.size(), 1u) << "another --since finds them too";
  ASSERT_TRUE(Walk(kNow - 2 * kHour).ok());
}

TEST_F(SlicesTest, HalfAsMuchAfterATimeout) {
  bears_ = 5 * kHour;
  ASSERT_TRUE(Walk(kNow - 2 * kDay).ok());
  int refused = 0;
  for (const auto& [from, to] : calls_) refused += to - from > bears_;
  EXPECT_LE(refused, 3) << "a day, a half, a quarter; then never again";
  ASSERT_TRUE(Walk(kNow - 2 * kDay).ok());
  EXPECT_EQ(calls_.size(), 1u) << "the pieces are kept";
}

TEST_F(SlicesTest, EachBoundIsBorne) {
  for (EpochSeconds bears = kShortestSlice; bears < 2 * kDay; bears += 4321) {
    const TemporaryFolder fresh;
    bears_ = bears;
    SliceCache cache(fresh.path(), "lab", kNow);
    std::map<EpochSeconds, int> taken;
    const absl::Status status =
        ReadSlices({.since = kNow - 3 * kDay - 17,
                    .now = kNow,
                    .read = [this](EpochSeconds from, EpochSeconds to) { return Read(from, to); },
                    .take =
                        [&taken](const SliceJobs& jobs, bool) {
                          for (const JobStart& job : jobs.starts) ++taken[job.start];
                        },
                    .on_step = [](const SliceStep&) {}},
                   cache);
    ASSERT_TRUE(status.ok()) << bears << ": " << status;
    for (const auto& [start, times] : taken) ASSERT_EQ(times, 1) << bears << ": " << start;
    EXPECT_EQ(taken.size(), static_cast<std::size_t>((kNow - FirstSlice(kNow - 3 * kDay - 17, kNow)) / 600 + 1))
        << bears;
  }
}

TEST_F(SlicesTest, TheShortestSliceThatIsTooMuchEndsIt) {
  bears_ = kShortestSlice - 1;
  const absl::Status status = Walk(kNow - 2 * kDay);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_LE(calls_.size(), 8u);
}

TEST_F(SlicesTest, AnotherErrorEndsItAndWhatWasReadIsKept) {
  fail_at_ = 19'998 * kDay;
  fail_with_ = absl::CancelledError("sacct was stopped");
  EXPECT_TRUE(absl::IsCancelled(Walk(kNow - 7 * kDay)));
  const std::size_t read = calls_.size();
  fail_at_ = 2 * kNow;
  ASSERT_TRUE(Walk(kNow - 7 * kDay).ok());
  EXPECT_EQ(calls_.front().first, 19'998 * kDay);
  EXPECT_EQ(calls_.size(), 9 - (read - 1));
}

TEST_F(SlicesTest, ShortStretchesBeginAtAnHour) {
  EXPECT_EQ(FirstSlice(kNow - 2 * kHour, kNow), 20'000 * kDay + 12 * kHour);
  EXPECT_EQ(FirstSlice(kNow - kDay, kNow), 19'999 * kDay);
  ASSERT_TRUE(Walk(kNow - 600).ok());
  EXPECT_EQ(calls_.size(), 1u);
}

TEST(Since, DurationsAndDates) {
  EXPECT_EQ(*ParseSince("7d", kNow), kNow - 7 * kDay);
  EXPECT_EQ(*ParseSince("2w", kNow), kNow - 14 * kDay);
  EXPECT_EQ(*ParseSince("1.5d", kNow), kNow - 36 * kHour);
  EXPECT_EQ(*ParseSince("36h", kNow), kNow - 36 * kHour);
  EXPECT_EQ(*ParseSince("1d 12h", kNow), kNow - 36 * kHour);
  EXPECT_EQ(*ParseSince("90m", kNow), kNow - 90 * 60);
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(*ParseSince("2024-10-01", kNow), 19'997 * kDay);
  EXPECT_EQ(*ParseSince("2024-10-01T08:30", kNow), 19'997 * kDay + 8 * kHour + 1800);
  EXPECT_EQ(*ParseSince("2024-10-01T08:30:15", kNow), 19'997 * kDay + 8 * kHour + 1815);
  for (const char* wrong : {"", "d", "-1d", "0s", "400d", "99999999999w", "yesterday", "2024-02-31", "2024-13-01",
                            "2023-01-01", "2024-10-05", "1d2", "nand", "infd", "7 e"}) {
    const auto since = ParseSince(wrong, kNow);
    ASSERT_FALSE(since.ok()) << wrong;
    EXPECT_THAT(std::string(since.status().message()), HasSubstr("--since: \"" + std::string(wrong) + "\""));
  }
}

}  // namespace
}  // namespace hotplate::cli
