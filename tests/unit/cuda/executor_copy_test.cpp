// How a task's arrays come to the device and back: few copies, through pinned buffers, ahead of themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/cuda/executor_fixture.h"

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST_F(ExecutorTest, RunsATaskAndTimesIt) {
  ASSERT_TRUE(Open().ok());
  FloatTask task("vector_add", 1000);
  const Outcome outcome = task.RunOn(lane());
  ASSERT_TRUE(outcome.ok()) << outcome.message();
  EXPECT_TRUE(task.Added());
  EXPECT_NE(task.report_.host_to_device_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_NE(task.report_.kernel_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_NE(task.report_.device_to_host_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_EQ(task.control_.progress, 1'000'000u);
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  EXPECT_EQ(Sampled().pool_peak_bytes, 3u * 4096);
}

// Small arrays lie one behind the other and travel in one copy each way.
TEST_F(ExecutorTest, SmallInputsAreOneCopy) {
  ASSERT_TRUE(Open().ok());
  FloatTask task("vector_add", 100);
  fake_.ForgetCalls();
  ASSERT_TRUE(task.RunOn(lane()).ok());
  EXPECT_TRUE(task.Added());
  EXPECT_THAT(fake_.Calls(), AllOf(Contains("cuMemcpyHtoDAsync 912"), Contains("cuMemcpyDtoHAsync 400")));
  EXPECT_EQ(CallsOf("cuMemcpy"), 2);
  EXPECT_EQ(CallsOf("cuStreamSynchronize"), 0) << "a complete task waits for its last event alone";
}

TEST_F(ExecutorTest, AnArrayThatIsGivenTwiceIsCopiedOnce) {
  ASSERT_TRUE(Open().ok());
  FloatTask task("vector_add", 100);
  task.Twice();
  fake_.ForgetCalls();
  ASSERT_TRUE(task.RunOn(lane()).ok());
  EXPECT_TRUE(task.Added());
  EXPECT_THAT(fake_.Calls(), Contains("cuMemcpyHtoDAsync 400"));
}

TEST_F(ExecutorTest, EmptyArraysAreFine) {
  ASSERT_TRUE(Open().ok());
  FloatTask task("vector_add", 0);
  const Outcome outcome = task.RunOn(lane());
  ASSERT_TRUE(outcome.ok()) << outcome.message();
  EXPECT_EQ(task.report_.host_to_device_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_EQ(task.report_.device_to_host_ns, HOTPLATE_CUDA_ABSENT);
}

// Sizes around the borders of chunks and helped copies, with threads that help and without.
TEST_F(ExecutorTest, EverySizeArrivesWhole) {
  for (const int helpers : {0, 2}) {
    lanes_.clear();
    device_.reset();
    options_.copy_threads = helpers;
    ASSERT_TRUE(Open().ok());
    for (const std::size_t n : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}, kChunk / 8 - 1,
                                kChunk / 8, kChunk / 4 - 1, kChunk / 4, kChunk / 4 + 1, 3 * kChunk / 4 + 17}) {
      FloatTask task("vector_add", n);
      const Outcome outcome = task.RunOn(lane());
      ASSERT_TRUE(outcome.ok()) << n << ": " << outcome.message();
      EXPECT_TRUE(task.Added()) << n;
    }
  }
}

// The first bytes are on the bus while the last are not staged yet, and no buffer is filled again too early.
TEST_F(ExecutorTest, AnUploadRunsAheadByItsBuffers) {
  ASSERT_TRUE(Open().ok());
  FloatTask task("selu", 10 * kChunk / 4);
  fake_.ForgetCalls();
  fake_.Hold();
  std::thread runner([&] { EXPECT_TRUE(task.RunOn(lane()).ok()); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 1; }));
  EXPECT_EQ(CallsOf("cuMemcpyHtoDAsync"), static_cast<int>(Staging::kMostBuffers));
  fake_.Release();
  runner.join();
  EXPECT_EQ(CallsOf("cuMemcpyHtoDAsync"), 10);
  for (std::size_t i = 0; i < task.out_.size(); i += 999) ASSERT_EQ(task.out_[i], 1.05f * task.a_[i]) << i;
}

// With no more than its own two buffers a lane works just the same.
TEST_F(ExecutorTest, ALaneMakesDoWithItsOwnBuffers) {
  options_.pinned_bytes = 2 * kChunk;
  ASSERT_TRUE(Open().ok());
  FloatTask task("vector_add", 5 * kChunk / 4);
  fake_.Hold();
  std::thread runner([&] { EXPECT_TRUE(task.RunOn(lane()).ok()); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 1; }));
  EXPECT_EQ(CallsOf("cuMemcpyHtoDAsync"), 2);
  fake_.Release();
  runner.join();
  EXPECT_TRUE(task.Added());
  EXPECT_EQ(Sampled().pinned_bytes, 2 * kChunk);
}

// The next chunks of the output are asked for before the first is copied out.
TEST_F(ExecutorTest, ADownloadRunsAheadByItsBuffers) {
  ASSERT_TRUE(Open().ok());
  FloatTask task("selu", 6 * kChunk / 4);
  ASSERT_TRUE(task.RunOn(lane()).ok());
  const std::vector<std::string> calls = fake_.Calls();
  const auto first = std::find_if(calls.begin(), calls.end(),
                                  [](const std::string& call) { return call.starts_with("cuMemcpyDtoH"); });
  const auto waited = std::find_if(first, calls.end(), [](const std::string& call) {
    return call.starts_with("cuEventQuery") || call.starts_with("cuEventSynchronize");
  });
  EXPECT_EQ(std::count_if(first, waited, [](const std::string& call) { return call.starts_with("cuMemcpyDtoH"); }),
            static_cast<int>(Staging::kMostBuffers));
}

// What lies between two outputs was never written, and is not read.
TEST_F(ExecutorTest, NothingBetweenOutputsIsRead) {
  ASSERT_TRUE(Open().ok());
  FloatTask task("vector_add", 100);
  std::vector<float> more(64);
  hotplate_array outputs[3] = {task.output_, task.output_, task.output_};
  outputs[1].name = outputs[2].name = "more";
  outputs[1].data = more.data();
  outputs[1].bytes = more.size() * sizeof(float);  // without a gap before the next
  std::vector<float> last(100);
  outputs[2].data = last.data();
  task.call_.outputs = outputs;
  task.call_.output_count = 3;
  fake_.ForgetCalls();
  ASSERT_TRUE(task.RunOn(lane()).ok());
  EXPECT_TRUE(task.Added());
  EXPECT_THAT(fake_.Calls(), AllOf(Contains("cuMemcpyDtoHAsync 400"), Contains("cuMemcpyDtoHAsync 656")));
  EXPECT_EQ(CallsOf("cuMemcpyDtoH"), 2);
}

// An output whose size the data decided: no more than that is copied, and with an identity it does not stay.
TEST_F(ExecutorTest, OnlyWhatIsThereOfAnOutputIsCopied) {
  ASSERT_TRUE(Open().ok());
  for (const std::int64_t size : {100, 64, 1, 0}) {
    FloatTask task("vector_add", 100);
    std::int64_t said = size;  // as the kernel's host side would
    task.output_.actual_size = &said;
    task.output_.identity = 77;
    task.call_.outputs = &task.output_;
    const std::vector<float> before(static_cast<const float*>(task.output_.data),
                                    static_cast<const float*>(task.output_.data) + 100);
    fake_.ForgetCalls();
    ASSERT_TRUE(task.RunOn(lane()).ok());
    EXPECT_EQ(CallsOf("cuMemcpyDtoH"), size == 0 ? 0 : 1);
    EXPECT_EQ(CallsOf("cuMemcpyDtoHAsync " + std::to_string(4 * size)), size == 0 ? 0 : 1);
    EXPECT_EQ(task.Added(), size == 100);
    const auto* const after = static_cast<const float*>(task.output_.data);
    EXPECT_TRUE(std::equal(before.begin() + size, before.end(), after + size)) << "the rest is left alone";
    EXPECT_EQ(Sampled().resident_arrays, 0u);
  }
}

TEST_F(ExecutorTest, PinnedMemoryIsBoundedAndShared) {
  options_.pinned_bytes = 5 * kChunk;
  const Outcome third = Open({}, 3);
  EXPECT_EQ(third.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(third.message()), AllOf(HasSubstr("pinned host memory"), HasSubstr("20971520 bytes")));
  ASSERT_EQ(lanes_.size(), 2u);
  // The fifth buffer is for whoever needs it, and afterwards for the next: each lane in turn runs ahead by three.
  for (const auto& one : lanes_) {
    FloatTask task("selu", 5 * kChunk / 4);
    fake_.ForgetCalls();
    fake_.Hold();
    std::thread runner([&] { EXPECT_TRUE(task.RunOn(*one).ok()); });
    EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 1; }));
    EXPECT_EQ(CallsOf("cuMemcpyHtoDAsync"), 3);
    fake_.Release();
    runner.join();
  }
  EXPECT_EQ(Sampled().pinned_bytes, 5 * kChunk);
  EXPECT_EQ(Sampled().pinned_peak_bytes, 5 * kChunk);
  lanes_.pop_back();
  Outcome why = Outcome::Ok();
  lanes_.push_back(LaneExecutor::Open(*device_, why));
  EXPECT_TRUE(why.ok()) << "what a lane leaves behind is there for the next";
}

// Matrices of a lane's scratch, sums of several lanes at once: nobody's memory is anybody else's.
TEST_F(ExecutorTest, LanesDoNotDisturbOneAnother) {
  ASSERT_TRUE(Open({}, 3).ok());
  const std::uint64_t before = Sampled().pool_used_bytes;
  std::vector<std::thread> threads;
  for (const auto& one : lanes_) {
    threads.emplace_back([&one] {
      for (const std::size_t n : {10, 100'000, 7, 2'000'000, 1000}) {
        FloatTask task("vector_add", n);
        const Outcome outcome = task.RunOn(*one);
        ASSERT_TRUE(outcome.ok()) << outcome.message();
        EXPECT_TRUE(task.Added());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Sampled().pool_used_bytes, before);
  EXPECT_EQ(fake_.Counts().allocations, 0);
}

}  // namespace
}  // namespace hotplate
