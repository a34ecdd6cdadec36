#include "server/core/schedule/run_times.h"

#include <gtest/gtest.h>

#include <string>

namespace hotplate::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class RunTimesTest : public ::testing::Test {
 protected:
  void Ran(double work, nanoseconds time, bool cold = false) { times_.Add(Kind(work), time, cold); }
  RunTimes::Kind Kind(double work) { return times_.KindOf("matmul float32", "H100", work); }
  std::optional<RunTimes::Estimate> Of(double work) { return times_.Of(Kind(work)); }

  RunTimes times_;
};

TEST_F(RunTimesTest, NothingIsKnownOfWhatNeverRan) {
  EXPECT_EQ(Of(1e9), std::nullopt);
  EXPECT_EQ(times_.Of(RunTimes::kNoKind), std::nullopt);
  Ran(1e9, seconds(1));
  EXPECT_EQ(times_.Of(times_.KindOf("matmul float64", "H100", 1e9)), std::nullopt) << "another type";
  EXPECT_EQ(times_.Of(times_.KindOf("matmul float32", "A100", 1e9)), std::nullopt) << "another device";
}

TEST_F(RunTimesTest, TheMiddleOfTheNewestRunsCounts) {
  for (const int ms : {10, 12, 500, 11, 9}) Ran(1e9, milliseconds(ms));
  const auto estimate = Of(1e9);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->median, milliseconds(11));
  EXPECT_EQ(estimate->low, milliseconds(9));
  EXPECT_EQ(estimate->high, milliseconds(500));
  EXPECT_EQ(estimate->runs, 5U);
  for (std::size_t i = 0; i < RunTimes::kNewest; ++i) Ran(1e9, milliseconds(100));  // the device is slower now
  EXPECT_EQ(Of(1e9)->median, milliseconds(100));
  EXPECT_EQ(Of(1e9)->high, milliseconds(100));
}

TEST_F(RunTimesTest, AColdRunCountsUntilThereIsAnother) {
  Ran(1e9, seconds(5), /*cold=*/true);
  EXPECT_EQ(Of(1e9)->median, seconds(5));
  Ran(1e9, seconds(1));
  EXPECT_EQ(Of(1e9)->median, seconds(1));
  Ran(1e9, seconds(5), /*cold=*/true);
  EXPECT_EQ(Of(1e9)->median, seconds(1));
}

TEST_F(RunTimesTest, BetweenTwoSizesTimeIsInterpolated) {
  Ran(1e6, milliseconds(1));
  Ran(1e12, seconds(100));
  const auto between = Of(1e9);
  EXPECT_EQ(between, std::nullopt) << "both are too far away to tell";
  Ran(1e8, milliseconds(10));
  Ran(1e10, seconds(1));
  ASSERT_TRUE(Of(1e9));
  EXPECT_NEAR(static_cast<double>(Of(1e9)->median.count()), 1e8, 2e7);
  Ran(1e9, milliseconds(300));
  EXPECT_EQ(Of(1e9)->median, milliseconds(300)) << "what was measured is better";
}

TEST_F(RunTimesTest, BeyondAllSizesTheSpreadIsWide) {
  Ran(1e9, milliseconds(100));
  const auto four_times = Of(4e9);
  ASSERT_TRUE(four_times);
  EXPECT_NEAR(static_cast<double>(four_times->median.count()), 4e8, 1e8);
  EXPECT_LE(four_times->low, milliseconds(100));
  const auto a_quarter = Of(2.5e8);
  ASSERT_TRUE(a_quarter);
  EXPECT_EQ(a_quarter->high, milliseconds(100)) << "perhaps the call itself takes so long";
  EXPECT_EQ(Of(1e12), std::nullopt);
}

TEST_F(RunTimesTest, WorkWithoutAMeasureIsAlike) {
  const RunTimes::Kind program = times_.KindOf("exec train.py", "H100", 0);
  times_.Add(program, seconds(60), false);
  EXPECT_EQ(times_.Of(program)->median, seconds(60));
  EXPECT_EQ(times_.Of(times_.KindOf("exec train.py", "H100", 1)), std::nullopt);
}

TEST_F(RunTimesTest, WhatWasAskedForLongestAgoIsForgotten) {
  Ran(1e9, seconds(1));
  const RunTimes::Kind first = times_.KindOf("program 0", "", 0);
  times_.Add(first, seconds(1), false);
  for (std::size_t i = 1; i < RunTimes::kMostSeries; ++i) {
    times_.KindOf("program " + std::to_string(i), "", 0);
    Kind(1e9);  // in use
  }
  EXPECT_EQ(times_.Of(first), std::nullopt);
  EXPECT_TRUE(Of(1e9));
  times_.Add(first, seconds(1), false);
  EXPECT_EQ(times_.Of(first), std::nullopt) << "its number means nothing any more";
}

}  // namespace
}  // namespace hotplate::core
