// Tasks that end badly: what they leave behind, and what the next one finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/unit/cuda/executor_fixture.h"

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A task whose host side runs out of memory leaves nothing behind and nothing in flight.
TEST_F(ExecutorTest, AnExceptionLeavesNothing) {
  FakeScript script;
  script.throwing_kernels.insert("vector_add");
  options_.pinned_bytes = 4 * kChunk;
  ASSERT_TRUE(Open(script).ok());
  for (int i = 0; i < 2; ++i) {
    FloatTask task("vector_add", 5 * kChunk / 4);
    fake_.ForgetCalls();
    const Outcome outcome = task.RunOn(lane());
    EXPECT_EQ(outcome.code(), HOTPLATE_FAILED);
    EXPECT_THAT(std::string(outcome.message()), HasSubstr("bad_alloc"));
    EXPECT_EQ(CallsOf("cuStreamSynchronize"), 1) << "what is in flight uses the task's memory";
    EXPECT_EQ(fake_.Counts().allocations, 0);
    EXPECT_EQ(lane().kernel(), nullptr);
  }
  FloatTask next("selu", 100);
  EXPECT_TRUE(next.RunOn(lane()).ok());
}

TEST_F(ExecutorTest, AStickyErrorLosesTheDevice) {
  FakeScript script;
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  ASSERT_TRUE(Open(script, 2).ok());
  FloatTask breaking("selu", 100);
  const Outcome outcome = breaking.RunOn(lane());
  EXPECT_EQ(outcome.code(), HOTPLATE_DEVICE_LOST);
  const std::string why(outcome.message());
  EXPECT_THAT(why, ContainsRegex("^gpu0 is lost: kernel selu failed: .*illegal memory access"));
  EXPECT_THAT(lines_, ElementsAre(why));
  // Every later task is refused in the same words, and nothing is asked of the device for it.
  fake_.ForgetCalls();
  FloatTask after("vector_add", 100);
  const Outcome refused = after.RunOn(*lanes_.back());
  EXPECT_EQ(refused.code(), HOTPLATE_DEVICE_LOST);
  EXPECT_EQ(std::string(refused.message()), why);
  EXPECT_THAT(fake_.Calls(), IsEmpty());
  hotplate_cuda_sample sample{};
  EXPECT_FALSE(device_->Sample(sample));
  EXPECT_EQ(device_->FreeBytes(), 0u);
  Outcome lane_why = Outcome::Ok();
  EXPECT_EQ(LaneExecutor::Open(*device_, lane_why), nullptr);
  EXPECT_EQ(lane_why.code(), HOTPLATE_DEVICE_LOST);
  EXPECT_THAT(lines_, ElementsAre(why)) << "said once";
}

// CUDA cannot say which of several kernels broke the context, so the message names those that ran beside.
TEST_F(ExecutorTest, ALostDeviceNamesWhatRanBeside) {
  FakeScript script;
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  script.waiting_kernels.insert("vector_add");
  ASSERT_TRUE(Open(script, 2).ok());
  FloatTask breaking("selu", 100), beside("vector_add", 100);
  fake_.Hold();  // until both run
  std::thread first([&] { EXPECT_EQ(breaking.RunOn(*lanes_[0]).code(), HOTPLATE_DEVICE_LOST); });
  std::thread second([&] { EXPECT_EQ(beside.RunOn(*lanes_[1]).code(), HOTPLATE_DEVICE_LOST); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 2; }));
  fake_.Release();
  first.join();
  second.join();
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_.front(), AllOf(HasSubstr("selu"), HasSubstr("vector_add"), HasSubstr("beside")));
}

TEST_F(ExecutorTest, ARefusedLaunchFailsTheTaskAlone) {
  FakeScript script;
  script.refused_launches["vector_add"] = 9;
  ASSERT_TRUE(Open(script).ok());
  FloatTask task("vector_add", 100);
  const Outcome outcome = task.RunOn(lane());
  EXPECT_EQ(outcome.code(), HOTPLATE_FAILED);
  EXPECT_THAT(std::string(outcome.message()), HasSubstr("launch: invalid configuration argument"));
  EXPECT_TRUE(task.RunOn(lane()).ok()) << "the error is not found again";
  EXPECT_TRUE(task.Added());
}

// Whichever call of a task fails, the task fails, the device keeps nothing of it, and the next task is fine.
TEST_F(ExecutorTest, EveryCallIsChecked) {
  ASSERT_TRUE(Open().ok());
  const auto run = [&](int fail_at) {
    FakeScript script;
    script.fail_at = fail_at;
    script.fail_code = 999;
    fake_.Change(script);
    FloatTask task("vector_add", 1000);
    return task.RunOn(lane());
  };
  int failed = 0, left = 0;
  // Each run comes one call further; polls make a task's calls a few more now and then.
  for (; failed < 100; ++failed) {
    const Outcome outcome = run(failed + 1);
    if (outcome.ok()) break;
    EXPECT_EQ(outcome.code(), HOTPLATE_FAILED) << outcome.message();
    EXPECT_THAT(std::string(outcome.message()), HasSubstr("CUDA_ERROR_UNKNOWN")) << failed;
    // What CUDA does not take back is lost, and nothing else.
    if (outcome.message().starts_with("freeing device memory")) ++left;
    EXPECT_EQ(fake_.Counts().allocations, left) << failed;
    ASSERT_TRUE(run(0).ok()) << failed;
  }
  fake_.Change({});
  EXPECT_EQ(Sampled().pool_used_bytes, static_cast<std::uint64_t>(left) * 3 * 4096);
  lanes_.clear();
  device_.reset();
  EXPECT_THAT(fake_.Misuse(), SizeIs(left)) << "blocks that were left, and nothing else";
  fake_.Reset({});
  EXPECT_GE(failed, 14) << "a task makes that many calls";
}

TEST_F(ExecutorTest, ACancelStopsAChunkedKernel) {
  ASSERT_TRUE(Open().ok());
  FloatTask task("trig_identity", 100'000);
  fake_.Hold();
  std::thread runner([&] { EXPECT_EQ(task.RunOn(lane()).code(), HOTPLATE_CANCELLED); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuLaunchHostFunc") == 2; }));
  std::atomic_ref(task.control_.cancel).store(1);
  fake_.Release();
  runner.join();
  EXPECT_EQ(CallsOf("cuLaunchHostFunc"), 2) << "two steps are in flight, and no more are enqueued";
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  FloatTask next("trig_identity", 5000);
  EXPECT_TRUE(next.RunOn(lane()).ok());
  EXPECT_NEAR(next.out_[4999], 1, 1e-6);
}

TEST_F(ExecutorTest, ACancelledTaskDoesNotBegin) {
  ASSERT_TRUE(Open().ok());
  FloatTask task("vector_add", 100);
  task.control_.cancel = 1;
  EXPECT_EQ(task.RunOn(lane()).code(), HOTPLATE_CANCELLED);
  EXPECT_EQ(CallsOf("cuLaunchHostFunc"), 0);
}

}  // namespace
}  // namespace hotplate
