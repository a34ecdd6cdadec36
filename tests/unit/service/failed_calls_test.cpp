#include "server/service/failed_calls.h"

#include <gtest/gtest.h>

namespace hotplate::server {
namespace {

class StandingClock : public core::Clock {
 public:
  core::SteadyTime Now() const override { return now; }
  core::SteadyTime now = std::chrono::steady_clock::now();
};

TEST(FailedCallsTest, SoManyAtOnceAndThenOneASecondOfEachCertificate) {
  StandingClock clock;
  FailedCalls calls(clock);
  EXPECT_FALSE(calls.any());
  for (int i = 0; i < FailedCalls::kAtOnce; ++i) {
    EXPECT_TRUE(calls.Check("ana").ok()) << i;
    calls.Note("ana");
  }
  EXPECT_TRUE(calls.any());
  EXPECT_EQ(calls.Check("ana").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(calls.Check("ben").ok());
  clock.now += FailedCalls::kOneMore;
  EXPECT_TRUE(calls.Check("ana").ok());
  calls.Note("ana");
  EXPECT_FALSE(calls.Check("ana").ok());
  clock.now += FailedCalls::kAtOnce * FailedCalls::kOneMore;
  EXPECT_TRUE(calls.Check("ben").ok());
  EXPECT_FALSE(calls.any()) << "nobody has to wait any more";
  for (int i = 0; i < FailedCalls::kAtOnce; ++i) {
    EXPECT_TRUE(calls.Check("ana").ok()) << i;
    calls.Note("ana");
  }
  EXPECT_FALSE(calls.Check("ana").ok());
}

}  // namespace
}  // namespace hotplate::server
