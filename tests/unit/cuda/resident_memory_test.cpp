// What makes room for what on a device, against a fake driver: arrays that nobody uses, for tasks and uploads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/unit/cuda/resident_fixture.h"

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST_F(ResidentTest, TheOldestMakesRoom) {
  OpenWith(40 * kMiB);
  std::vector<HostArray> x;
  for (std::uint64_t id = 0; id <= 5; ++id) x.emplace_back(id, 8 * kMiB / 4, static_cast<float>(id + 1));
  HostArray y(0, 8 * kMiB / 4);
  for (const int id : {1, 2, 3, 1, 4}) {
    Double(x[id], y);
    EXPECT_EQ(device_->FreeBytes(), 40 * kMiB) << "what nobody uses is free";
  }
  EXPECT_EQ(Sampled().resident_bytes, 32 * kMiB);
  Double(x[5], y);
  EXPECT_EQ(Sampled().resident_arrays, 4u) << "one goes, and no more";
  EXPECT_EQ(Sampled().pool_used_bytes, 32 * kMiB);
  for (const int id : {3, 1, 4, 5}) EXPECT_FALSE(IsCopied(x[id])) << id;
  EXPECT_TRUE(IsCopied(x[2]));
  EXPECT_TRUE(IsCopied(x[3])) << "now the oldest";
}

// What tasks in other processes took is not known beforehand: the driver says no, and then room is made.
TEST_F(ResidentTest, ArraysMakeRoomWhenTheDriverHasNone) {
  FakeScript script;
  script.memory_bytes = 356 * kMiB;
  Open(script, 2);
  HostArray x(1, 30 * kMiB / 4), y(2, 30 * kMiB / 4), small(3, 1000), out(0, 1000);
  Double(x, y);
  Double(small, out);
  EXPECT_EQ(Sampled().resident_arrays, 3u);
  script.others_bytes = 290 * kMiB;  // 66 are left, 60 of them in arrays
  fake_.Change(script);
  HostArray large(4, 15 * kMiB / 4), twice(0, 15 * kMiB / 4);
  Attempt run;
  const Outcome outcome = run.On(*lanes_[1], "selu", {&large}, twice);
  ASSERT_TRUE(outcome.ok()) << outcome.message();
  EXPECT_TRUE(Doubled(twice, large));
  EXPECT_FALSE(IsCopied(large));
}

// A module's code or a library's workspace is no memory of the pool's.
TEST_F(ResidentTest, ALaunchThatFindsNoMemoryGetsRoom) {
  OpenWith(64 * kMiB);
  HostArray x(1, 8 * kMiB / 4), y(2, 8 * kMiB / 4), a(0, 1000), b(0, 1000, 5), c(0, 1000);
  Double(x, y);
  FakeScript script = fake_.script();
  script.refused_launches["vector_add"] = kDriverOutOfMemory;
  fake_.Change(script);
  Attempt run;
  const Outcome outcome = run.On(lane(), "vector_add", {&a, &b}, c);
  ASSERT_TRUE(outcome.ok()) << outcome.message();
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(c.values[i], a.values[i] + b.values[i]);
  EXPECT_EQ(Sampled().resident_arrays, 0u);
}

TEST_F(ResidentTest, ALaunchThatCannotGetRoomFails) {
  OpenWith(64 * kMiB);
  FakeScript script = fake_.script();
  script.refused_launches["vector_add"] = kDriverOutOfMemory;
  fake_.Change(script);
  HostArray a(0, 1000), b(0, 1000), c(0, 1000);
  Attempt run;
  EXPECT_EQ(run.On(lane(), "vector_add", {&a, &b}, c).code(), HOTPLATE_OUT_OF_MEMORY);
}

TEST_F(ResidentTest, AnInputMakesNoRoomForAnother) {
  OpenWith(40 * kMiB);
  std::vector<HostArray> x;
  for (std::uint64_t id = 0; id <= 5; ++id) x.emplace_back(id, 8 * kMiB / 4, static_cast<float>(id + 1));
  HostArray y(0, 8 * kMiB / 4);
  for (const int id : {1, 2, 3, 4}) Double(x[id], y);
  fake_.ForgetCalls();
  Attempt run;
  const Outcome outcome = run.On(lane(), "vector_add", {&x[5], &x[1]}, y);  // the new one, and the oldest
  ASSERT_TRUE(outcome.ok()) << outcome.message();
  EXPECT_EQ(CopiedIn(), 8 * kMiB) << "the new one alone";
  EXPECT_EQ(y.values[7], x[5].values[7] + x[1].values[7]);
}

TEST_F(ResidentTest, AnUploadThatFindsNoRoomTakesNone) {
  OpenWith(40 * kMiB);
  HostArray x(1, 8 * kMiB / 4), y(0, 8 * kMiB / 4), large(2, 30 * kMiB / 4);
  Double(x, y);
  FakeScript script = fake_.script();
  script.others_bytes = 286 * kMiB;
  fake_.Change(script);
  EXPECT_FALSE(Send(large, 0, 1000));
  EXPECT_EQ(Sampled().resident_arrays, 1u);
}

TEST_F(ResidentTest, OutOfMemoryIsSaidOfAllThatIsMissing) {
  OpenWith(64 * kMiB, 2);
  HostArray x(1, 16 * kMiB / 4), y(0, 16 * kMiB / 4);
  Double(x, y);
  HostArray a(2, 100 * kMiB / 4), b(3, 100 * kMiB / 4), c(4, 100 * kMiB / 4);
  FakeScript script = fake_.script();
  script.memory_bytes = 290 * kMiB;  // another process takes its part
  fake_.Change(script);
  Attempt large;
  const Outcome outcome = large.On(lane(), "vector_add", {&a, &b}, c);
  EXPECT_EQ(outcome.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(outcome.message()),
              AllOf(HasSubstr("gpu0: 314572800 bytes needed"), EndsWith(std::to_string(34 * kMiB) + " bytes free")));
  EXPECT_EQ(Sampled().resident_arrays, 1u) << "it would not have been enough";
  EXPECT_FALSE(IsCopied(x));
}

// An array that a task uses stays, whatever another wants.
TEST_F(ResidentTest, WhatIsInUseMakesNoRoom) {
  OpenWith(40 * kMiB, 2);
  HostArray x(1, 16 * kMiB / 4), y(0, 16 * kMiB / 4);
  Double(x, y);
  fake_.ForgetCalls();
  FakeScript script = fake_.script();
  script.waiting_kernels.insert("selu");
  script.breaking_kernels["trig_identity"] = kDriverIllegalAddress;
  fake_.Change(script);
  Attempt running, large, breaking;
  std::thread beside([&] { EXPECT_EQ(running.On(lane(), "selu", {&x}, y).code(), HOTPLATE_DEVICE_LOST); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") >= 1; }));
  EXPECT_EQ(device_->FreeBytes(), 8 * kMiB);
  HostArray a(2, 150 * kMiB / 4), b(3, 150 * kMiB / 4), c(0, 150 * kMiB / 4);
  const Outcome outcome = large.On(*lanes_[1], "vector_add", {&a, &b}, c);
  EXPECT_EQ(outcome.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_EQ(Sampled().resident_arrays, 1u);
  HostArray small(0, 10), out(0, 10);
  EXPECT_EQ(breaking.On(*lanes_[1], "trig_identity", {&small}, out).code(), HOTPLATE_DEVICE_LOST);  // ends the other
  beside.join();
}

TEST_F(ResidentTest, AnIdleDeviceKeepsItsArrays) {
  Open();
  HostArray x(1, 100 * kMiB / 4), y(0, 100 * kMiB / 4);
  Double(x, y);
  device_->Rest(std::chrono::steady_clock::now() + std::chrono::hours(1));
  EXPECT_EQ(Sampled().pool_reserved_bytes, 100 * kMiB);
  EXPECT_FALSE(IsCopied(x));
  device_->Rest(std::chrono::steady_clock::now() + std::chrono::hours(2));
  device_->Forget(1);
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  device_->Rest(std::chrono::steady_clock::now() + std::chrono::hours(3));
  EXPECT_EQ(Sampled().pool_reserved_bytes, 64 * kMiB) << "what was freed while no task ran goes back too";
}

}  // namespace
}  // namespace hotplate
