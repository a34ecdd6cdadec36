#include "kernels/base/quantity.h"

#include <gtest/gtest.h>

namespace hotplate {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(QuantityTest, SizesHaveThreeDigitsAtMostBeforeThePoint) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(999), "999 B");
  EXPECT_EQ(BytesText(72'000'000), "72.0 MB");
  EXPECT_EQ(BytesText(999'960), "1.0 MB");  // not "1000.0 kB"
  EXPECT_EQ(BytesText(UINT64_MAX), "18.4 EB");
  EXPECT_EQ(ScaledText(45e12, "FLOP/s"), "45.0 TFLOP/s");
}

TEST(QuantityTest, DurationsHaveTheDigitsThatMatter) {
  EXPECT_EQ(DurationText(nanoseconds(85'400)), "85 µs");
  EXPECT_EQ(DurationText(nanoseconds(100'000)), "0.1 ms");
  EXPECT_EQ(DurationText(nanoseconds(1'240'000)), "1.2 ms");
  EXPECT_EQ(DurationText(milliseconds(34)), "34 ms");
  EXPECT_EQ(DurationText(milliseconds(2500)), "2.5 s");
  EXPECT_EQ(DurationText(nanoseconds(2'001'000'000)), "2.0 s");
  EXPECT_EQ(DurationText(seconds(2)), "2 s");
  EXPECT_EQ(DurationText(seconds(200)), "3 m 20 s");
  EXPECT_EQ(DurationText(seconds(7500)), "2 h 05 m");
  EXPECT_EQ(DurationText(minutes(15)), "15 m");
  EXPECT_EQ(DurationText(hours(24)), "24 h");
  EXPECT_EQ(DurationText(hours(7 * 24)), "7 days");
  EXPECT_EQ(DurationText(hours(7 * 24 + 1)), "169 h");
  EXPECT_EQ(DurationText(nanoseconds(0)), "0 s");
  EXPECT_EQ(SecondsText(2.5), "2.5 s");
}

TEST(QuantityTest, MomentsAreUtc) {
  EXPECT_EQ(UtcText(std::chrono::system_clock::time_point(seconds(1790000000))), "2026-09-21 14:13:20 UTC");
}

TEST(QuantityTest, ParseBytes) {
  EXPECT_EQ(ParseBytes("0"), 0u);
  EXPECT_EQ(ParseBytes("17"), 17u);
  EXPECT_EQ(ParseBytes("64 MiB"), 64u << 20);
  EXPECT_EQ(ParseBytes("3GB"), 3'000'000'000u);
  EXPECT_EQ(ParseBytes("5 kB"), 5000u);
  for (const char* bad : {"", "MiB", "-1", "1.5GiB", "1 mib", "99999999999TiB", "18446744073709551616", "1MiBx"}) {
    EXPECT_FALSE(ParseBytes(bad).has_value()) << bad;
  }
}

TEST(QuantityTest, ParseDuration) {
  EXPECT_EQ(ParseDuration("0"), seconds(0));
  EXPECT_EQ(ParseDuration("500ms"), milliseconds(500));
  EXPECT_EQ(ParseDuration("1.5s"), milliseconds(1500));
  EXPECT_EQ(ParseDuration("1.5m"), seconds(90));
  EXPECT_EQ(ParseDuration("1h30m"), minutes(90));
  EXPECT_EQ(ParseDuration(" 2 h 05 m "), minutes(125));
  EXPECT_EQ(ParseDuration("1d"), hours(24));
  EXPECT_EQ(ParseDuration("2w"), hours(14 * 24));
  EXPECT_EQ(ParseDuration("3 µs"), nanoseconds(3000));
  for (const char* bad : {"",       "s",  "5",    "-1s", "+1s",    "1e3s", "nans", "nan",       "infs",        "inf",
                          "1 week", "1x", "1h 5", "5m3", "1.2.3s", ".",    "1..s", "99999999d", "9999999999h", "1s2"}) {
    EXPECT_FALSE(ParseDuration(bad).has_value()) << bad;
  }
}

TEST(QuantityTest, ANumberWithoutUnitIsWhatTheCallerSays) {
  EXPECT_EQ(ParseDuration("7", seconds(1)), seconds(7));
  EXPECT_EQ(ParseDuration("1.5", seconds(1)), milliseconds(1500));
  EXPECT_EQ(ParseDuration("0", seconds(1)), seconds(0));
  EXPECT_FALSE(ParseDuration("5m3", seconds(1)).has_value());
  EXPECT_FALSE(ParseDuration("", seconds(1)).has_value());
}

TEST(QuantityTest, TheExactFormParsesBack) {
  EXPECT_EQ(ExactBytes(64u << 20), "64MiB");
  EXPECT_EQ(ExactDuration(minutes(90)), "1h30m");
  EXPECT_EQ(ExactDuration(milliseconds(1500)), "1s500ms");
  EXPECT_EQ(ExactDuration(-milliseconds(1500)), "-1s500ms");
  for (const std::uint64_t bytes : {0ull, 1ull, 1000ull, 1024ull, 3ull << 20, 12345ull}) {
    EXPECT_EQ(ParseBytes(ExactBytes(bytes)), bytes);
  }
  for (const nanoseconds duration : {nanoseconds(0), nanoseconds(1), nanoseconds(1500), nanoseconds(milliseconds(1500)),
                                     nanoseconds(hours(1)), nanoseconds(hours(14 * 24))}) {
    EXPECT_EQ(ParseDuration(ExactDuration(duration)), duration);
  }
}

}  // namespace
}  // namespace hotplate
