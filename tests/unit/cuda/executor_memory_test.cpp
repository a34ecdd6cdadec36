// The device's memory: what runs out, what the pool keeps, and what is given back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/unit/cuda/executor_fixture.h"

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ExecutorTest, OutOfMemoryIsSaidAndForgotten) {
  FakeScript script;
  script.memory_bytes = 320 * kMiB;
  ASSERT_TRUE(Open(script).ok());
  EXPECT_EQ(device_->info().memory_bytes, 64 * kMiB);
  {
    FloatTask small("vector_add", 4 * kMiB / 4);
    ASSERT_TRUE(small.RunOn(lane()).ok());
  }
  script.memory_bytes = 290 * kMiB;  // another process takes its part
  fake_.Change(script);
  FloatTask large("vector_add", 100 * kMiB / 4);
  const Outcome outcome = large.RunOn(lane());
  EXPECT_EQ(outcome.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(outcome.message()), AllOf(HasSubstr("out of device memory on gpu0: 314572800 bytes needed"),
                                                    EndsWith(std::to_string(34 * kMiB) + " bytes free")));
  EXPECT_TRUE(device_->Usable().ok());
  EXPECT_EQ(Sampled().pool_reserved_bytes, 0u) << "nothing stays behind";
  FloatTask again("vector_add", 1000);
  EXPECT_TRUE(again.RunOn(lane()).ok());
  EXPECT_TRUE(again.Added());
}

// What the pool keeps of earlier tasks is given back before memory is said to be out.
TEST_F(ExecutorTest, WhatThePoolKeepsIsNotInTheWay) {
  FakeScript script;
  script.memory_bytes = 400 * kMiB;
  ASSERT_TRUE(Open(script, 2).ok());
  FloatTask first("selu", 50 * kMiB / 4);
  ASSERT_TRUE(first.RunOn(lane()).ok());
  EXPECT_GT(Sampled().pool_reserved_bytes, 0u) << "kept for the next task";
  EXPECT_GT(device_->FreeBytes(), 100 * kMiB) << "and still counted as free";
}

// A task's frees are in flight when it is over; what they leave in the pool, whichever lane's, must not be in the way
// of a larger task.
TEST_F(ExecutorTest, MemoryThatThePoolKeepsMakesRoomForALargerTask) {
  for (const std::size_t second : {0, 1}) {
    FakeScript script;
    script.memory_bytes = 250 * kMiB;
    ASSERT_TRUE(Open(script, 2).ok());
    FloatTask first("vector_add", 40 * kMiB / 4);
    ASSERT_TRUE(first.RunOn(lane()).ok());
    EXPECT_EQ(Sampled().pool_reserved_bytes, 120 * kMiB);
    FloatTask larger("vector_add", 50 * kMiB / 4);
    const Outcome outcome = larger.RunOn(*lanes_[second]);
    EXPECT_TRUE(outcome.ok()) << outcome.message();
    EXPECT_TRUE(larger.Added());
    lanes_.clear();
    device_.reset();
  }
}

// Nor does a task that finds no room wait for another lane's.
TEST_F(ExecutorTest, OutOfMemoryIsSaidWhileAnotherLaneRuns) {
  FakeScript script;
  script.memory_bytes = 300 * kMiB;
  script.waiting_kernels.insert("vector_add");
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  ASSERT_TRUE(Open(script, 2).ok());
  FloatTask running("vector_add", 1000), breaking("selu", 100);
  std::thread beside([&] { EXPECT_EQ(running.RunOn(*lanes_[1]).code(), HOTPLATE_DEVICE_LOST); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") >= 1; }));
  FloatTask large("trig_identity", 160 * kMiB / 4);
  EXPECT_EQ(large.RunOn(lane()).code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_EQ(breaking.RunOn(lane()).code(), HOTPLATE_DEVICE_LOST);  // and so ends the other
  beside.join();
}

// Only what is wanted is asked of the driver: twice, the second time of a pool that has given back what it kept.
TEST_F(ExecutorTest, OutOfMemoryTakesNothingToFindOutWhatIsFree) {
  FakeScript script;
  script.memory_bytes = 16384 * kMiB;
  ASSERT_TRUE(Open(script).ok());
  fake_.ForgetCalls();
  DevicePointer block = 0;
  const Outcome outcome = device_->Allocate(20480 * kMiB, lane(), block);
  EXPECT_EQ(outcome.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(outcome.message()), EndsWith(std::to_string(20480 * kMiB) + " bytes needed, " +
                                                       std::to_string(16128 * kMiB) + " bytes free"));
  EXPECT_EQ(CallsOf("cuMemAllocFromPoolAsync"), 2);
}

TEST_F(ExecutorTest, SaysWhereMemoryIsFreeOnlyInPieces) {
  FakeScript script;
  script.memory_bytes = 1024 * kMiB;
  script.piece_bytes = 300 * kMiB;
  ASSERT_TRUE(Open(script).ok());
  DevicePointer block = 0;
  const Outcome outcome = device_->Allocate(512 * kMiB, lane(), block);
  EXPECT_THAT(std::string(outcome.message()),
              EndsWith(std::to_string(768 * kMiB) + " bytes free, but not in one piece"));
  EXPECT_EQ(outcome.code(), HOTPLATE_OUT_OF_MEMORY);
}

// What others have when the device is opened is theirs for now, not for good.
TEST_F(ExecutorTest, AFullDeviceIsNotSmallForGood) {
  FakeScript script;
  script.memory_bytes = 16384 * kMiB;
  script.others_bytes = 16380 * kMiB;
  ASSERT_TRUE(Open(script).ok());
  EXPECT_EQ(device_->info().memory_bytes, (16384 - 1024 - 256) * kMiB) << "but for a context and the reserve";
  EXPECT_EQ(device_->FreeBytes(), 0u);
  FloatTask task("vector_add", 8 * kMiB / 4);
  EXPECT_EQ(task.RunOn(lane()).code(), HOTPLATE_OUT_OF_MEMORY);
  script.others_bytes = 0;
  fake_.Change(script);
  EXPECT_EQ(device_->FreeBytes(), device_->info().memory_bytes);
  EXPECT_TRUE(task.RunOn(lane()).ok());
  EXPECT_TRUE(task.Added());
}

TEST_F(ExecutorTest, TheWholePoolIsGivenBackForAnotherProcess) {
  ASSERT_TRUE(Open({}, 1).ok());
  device_->GiveBack();
  FloatTask task("vector_add", 40 * kMiB / 4);
  ASSERT_TRUE(task.RunOn(lane()).ok());
  EXPECT_EQ(Sampled().pool_reserved_bytes, 120 * kMiB);
  device_->GiveBack();
  EXPECT_EQ(Sampled().pool_reserved_bytes, 0u);
  ASSERT_TRUE(task.RunOn(lane()).ok());
  EXPECT_TRUE(task.Added());
}

TEST_F(ExecutorTest, AnIdleDeviceGivesItsPoolBack) {
  using std::chrono::seconds;
  const auto later = [](int s) { return std::chrono::steady_clock::now() + seconds(s); };
  FakeScript script;
  script.waiting_kernels.insert("trig_identity");
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  ASSERT_TRUE(Open(script, 2).ok());
  FloatTask task("vector_add", 40 * kMiB / 4);
  ASSERT_TRUE(task.RunOn(lane()).ok());
  device_->Rest(std::chrono::steady_clock::time_point());
  EXPECT_EQ(Sampled().pool_reserved_bytes, 120 * kMiB) << "kept for the next task";
  device_->Rest(later(3600));
  EXPECT_EQ(Sampled().pool_reserved_bytes, 64 * kMiB);
  fake_.ForgetCalls();
  device_->Rest(later(7200));
  EXPECT_THAT(fake_.Calls(), IsEmpty()) << "once";
  // Not while a task runs.
  ASSERT_TRUE(task.RunOn(lane()).ok());
  FloatTask running("trig_identity", 1000), breaking("selu", 100);
  std::thread beside([&] { EXPECT_EQ(running.RunOn(*lanes_[1]).code(), HOTPLATE_DEVICE_LOST); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuLaunchHostFunc") == 2; }));
  const int trims = CallsOf("cuMemPoolTrimTo");
  device_->Rest(later(3600));
  EXPECT_EQ(CallsOf("cuMemPoolTrimTo"), trims);
  EXPECT_EQ(breaking.RunOn(lane()).code(), HOTPLATE_DEVICE_LOST);
  beside.join();
}

}  // namespace
}  // namespace hotplate
