#include "server/core/time_text.h"

#include <gtest/gtest.h>

namespace hotplate::core {
namespace {

TEST(TimeTextTest, AsPeopleReadIt) {
  EXPECT_EQ(UtcText(WallTime(std::chrono::seconds(1790000000))), "2026-09-21 14:13:20 UTC");
  EXPECT_EQ(DurationText(std::chrono::milliseconds(1500)), "1.5s");
  EXPECT_EQ(DurationText(std::chrono::minutes(150)), "2h30m");
}

}  // namespace
}  // namespace hotplate::core
