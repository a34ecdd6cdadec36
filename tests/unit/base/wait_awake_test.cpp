#include "kernels/base/wait_awake.h"

#include <gtest/gtest.h>

namespace hotplate {
namespace {

TEST(WaitAwakeTest, LooksUntilItIsOver) {
  int looks = 0;
  EXPECT_EQ(WaitAwake(std::chrono::hours(1), [&] { return ++looks == 1000; }), kWaitAwake);
  EXPECT_EQ(looks, kWaitAwake ? 1000 : 1);
}

TEST(WaitAwakeTest, EndsInVainWhenTheTimeIsUp) {
  int looks = 0;
  EXPECT_FALSE(WaitAwake(std::chrono::microseconds(50), [&] { return ++looks, false; }));
  EXPECT_GE(looks, 1);
}

TEST(WaitAwakeTest, LooksOnceWhereThereIsNoTime) {
  int looks = 0;
  EXPECT_FALSE(WaitAwake(std::chrono::nanoseconds(-1), [&] { return ++looks, false; }));
  EXPECT_EQ(looks, 1);
  EXPECT_TRUE(WaitAwake(std::chrono::nanoseconds(0), [] { return true; }));
}

}  // namespace
}  // namespace hotplate
