// What this program's epoll_wait does, which gRPC's threads call.
#include "server/service/awake_poll.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "kernels/devices/cpu/machine.h"

namespace hotplate::server {
namespace {

class AwakePollTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cpu::UsableThreads() == 1) GTEST_SKIP() << "one processor: nothing waits awake";
    ASSERT_GE(epoll_, 0);
  }
  ~AwakePollTest() override { close(epoll_); }

  // Whether a wait of a millisecond, in which nothing comes, was awake at first: by its processor time.
  bool WaitsAwake() const {
    timespec begin{}, end{};
    epoll_event event{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    EXPECT_EQ(epoll_wait(epoll_, &event, 1, 1), 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    constexpr long kMuch = 100'000;
    return (end.tv_sec - begin.tv_sec) * 1'000'000'000 + end.tv_nsec - begin.tv_nsec > kMuch;
  }

  static void TwoSmallCalls() {
    NoteSmallCall();
    NoteSmallCall();
  }

  // After the time for which what was in vain is not tried again.
  static void Rest() { std::this_thread::sleep_for(std::chrono::milliseconds(60)); }

  const int epoll_ = epoll_create1(EPOLL_CLOEXEC);
};

TEST_F(AwakePollTest, AfterTwoSmallCallsAWaitIsAwake) {
  bool awake = false;
  for (int round = 0; round < 200 && !awake; ++round) {
    Rest();
    TwoSmallCalls();
    awake = WaitsAwake();
  }
  EXPECT_TRUE(awake);
}

TEST_F(AwakePollTest, AfterManyJobsItSleeps) {
  int asleep = 0;
  for (int round = 0; round < 10; ++round) {
    Rest();
    TwoSmallCalls();
    NoteManyJobs();
    asleep += WaitsAwake() ? 0 : 1;
  }
  EXPECT_GE(asleep, 8);
}

TEST_F(AwakePollTest, WhatWasInVainIsLeftForAWhile) {
  bool left = false;
  for (int round = 0; round < 50 && !left; ++round) {
    Rest();
    int awake = 0;
    for (int wait = 0; wait < 20; ++wait) {
      TwoSmallCalls();
      awake += WaitsAwake() ? 1 : 0;
    }
    left = awake > 0 && awake < 10;
  }
  EXPECT_TRUE(left);
}

}  // namespace
}  // namespace hotplate::server
