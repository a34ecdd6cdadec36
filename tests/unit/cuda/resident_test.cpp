// Arrays that stay on the device, against a fake driver: what is copied and what is not, and that nobody ever reads
// half a copy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/cuda/resident_fixture.h"

namespace hotplate {
namespace {

using ::testing::IsEmpty;

TEST_F(ResidentTest, TheSecondTaskOnAnArrayCopiesNothingIn) {
  Open();
  HostArray a(1, 1000), b(2, 1000, 5), c(0, 1000);
  Attempt first;
  ASSERT_TRUE(first.On(lane(), "vector_add", {&a, &b}, c).ok());
  EXPECT_NE(first.report.host_to_device_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_EQ(CopiedIn(), 2u * 4000);
  EXPECT_EQ(Sampled().resident_bytes, 2u * 4096);
  EXPECT_EQ(Sampled().resident_arrays, 2u);
  EXPECT_EQ(Sampled().pool_used_bytes, 2u * 4096);
  fake_.ForgetCalls();
  std::fill(c.values.begin(), c.values.end(), 0);
  Attempt second;
  ASSERT_TRUE(second.On(lane(), "vector_add", {&a, &b}, c).ok());
  EXPECT_EQ(CopiedIn(), 0u);
  EXPECT_EQ(second.report.host_to_device_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_NE(second.report.kernel_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_NE(second.report.device_to_host_ns, HOTPLATE_CUDA_ABSENT);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(c.values[i], a.values[i] + b.values[i]);
}

// One that is there beside one that is inline: only that one travels.
TEST_F(ResidentTest, OnlyWhatIsNotThereIsCopied) {
  Open();
  HostArray a(1, 1000), b(0, 1000, 5), c(0, 1000);
  Double(a, c);
  fake_.ForgetCalls();
  Attempt run;
  ASSERT_TRUE(run.On(lane(), "vector_add", {&a, &b}, c).ok());
  EXPECT_EQ(CopiedIn(), 4000u);
  EXPECT_NE(run.report.host_to_device_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_EQ(c.values[999], a.values[999] + b.values[999]);
}

TEST_F(ResidentTest, TheOutputOfOneTaskIsTheInputOfTheNext) {
  Open({}, 2);
  HostArray x(0, 3 * kChunk / 4 + 17), y(7, x.values.size()), z(0, x.values.size());
  Double(x, y);
  EXPECT_EQ(Sampled().resident_arrays, 1u);
  EXPECT_EQ(Copied("cuMemcpyDtoHAsync"), y.values.size() * 4) << "it was not allowed to stay alone";
  for (const std::size_t lane : {0, 1}) {
    fake_.ForgetCalls();
    Double(y, z, lane);
    EXPECT_EQ(CopiedIn(), 0u);
  }
}

TEST_F(ResidentTest, AnArrayThatIsGivenTwiceIsOne) {
  Open();
  HostArray a(1, 1000), c(0, 1000);
  Attempt run;
  ASSERT_TRUE(run.On(lane(), "vector_add", {&a, &a}, c).ok());
  EXPECT_EQ(CopiedIn(), 4000u);
  EXPECT_EQ(Sampled().resident_arrays, 1u);
  EXPECT_EQ(c.values[999], 2 * a.values[999]);
}

TEST_F(ResidentTest, OutputsOfATaskThatDidNotCompleteAreDropped) {
  FakeScript script;
  script.throwing_kernels.insert("vector_add");
  Open(script);
  HostArray a(1, 1000), b(2, 1000), c(3, 1000);
  Attempt failed;
  EXPECT_EQ(failed.On(lane(), "vector_add", {&a, &b}, c).code(), HOTPLATE_FAILED);
  EXPECT_EQ(Sampled().resident_arrays, 2u) << "the inputs";
  HostArray x(4, 100'000), y(5, 100'000);
  Attempt cancelled;
  fake_.Hold();
  std::thread runner([&] { EXPECT_EQ(cancelled.On(lane(), "trig_identity", {&x}, y).code(), HOTPLATE_CANCELLED); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuLaunchHostFunc") == 3; }));
  cancelled.Cancel();
  fake_.Release();
  runner.join();
  EXPECT_EQ(Sampled().resident_arrays, 3u) << "and this one's";
  EXPECT_EQ(Sampled().pool_used_bytes, Sampled().resident_bytes);
}

// While one lane copies, another that wants the same array waits for that, and reads all of it.
TEST_F(ResidentTest, TwoLanesCopyAnArrayOnce) {
  Open({}, 2);
  HostArray x(1, 10 * kChunk / 4), y(0, x.values.size()), z(0, x.values.size());
  fake_.Hold();
  std::thread first([&] { Double(x, y, 0); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 1; }));
  EXPECT_EQ(CallsOf("cuMemcpyHtoDAsync"), static_cast<int>(Staging::kMostBuffers));
  const int marks = CallsOf("cuEventRecord");
  std::thread second([&] { Double(x, z, 1); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventRecord") > marks; }));  // it has begun
  fake_.Release();
  first.join();
  second.join();
  EXPECT_EQ(CopiedIn(), x.values.size() * 4);
}

TEST_F(ResidentTest, WhoWaitsForAnothersCopyCanBeCancelled) {
  Open({}, 2);
  HostArray x(1, 10 * kChunk / 4), y(0, x.values.size()), z(0, x.values.size());
  fake_.Hold();
  std::thread first([&] { Double(x, y, 0); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 1; }));
  Attempt waiting;
  waiting.Cancel();
  std::thread second([&] { EXPECT_EQ(waiting.On(*lanes_[1], "selu", {&x}, z).code(), HOTPLATE_CANCELLED); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuStreamSynchronize") == 1; })) << "it has given up";
  fake_.Release();
  first.join();
  second.join();
}

// The lane that copies gives up: the one that waits goes on where that one was not.
TEST_F(ResidentTest, WhoWaitsTakesOver) {
  Open({}, 2);
  HostArray x(1, 10 * kChunk / 4), y(0, x.values.size()), z(0, x.values.size());
  fake_.Hold();
  Attempt first;
  std::thread one([&] { EXPECT_EQ(first.On(*lanes_[0], "selu", {&x}, y).code(), HOTPLATE_CANCELLED); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 1; }));
  std::thread two([&] { Double(x, z, 1); });
  first.Cancel();
  fake_.Release();
  one.join();
  two.join();
  EXPECT_FALSE(IsCopied(x));
}

TEST_F(ResidentTest, AnArrayInUseIsFreedByItsLastUser) {
  Open({}, 2);
  HostArray x(1, 1000), y(0, 1000), z(0, 1000);
  Double(x, y);
  fake_.ForgetCalls();
  fake_.Hold();
  std::thread first([&] { Double(x, y, 0); });
  std::thread second([&] { Double(x, z, 1); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 2; }));
  device_->Forget(1);
  EXPECT_EQ(Sampled().resident_arrays, 0u);
  EXPECT_EQ(Sampled().resident_bytes, 4096u);
  EXPECT_EQ(fake_.Counts().allocations, 3);
  fake_.Release();
  first.join();
  second.join();
  EXPECT_EQ(Sampled().resident_bytes, 0u);
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  EXPECT_EQ(fake_.Counts().allocations, 0);
}

// Nothing that could wait for it is asked of a lost device.
TEST_F(ResidentTest, ALostDeviceForgetsAll) {
  FakeScript script;
  script.breaking_kernels["trig_identity"] = kDriverIllegalAddress;
  Open(script);
  HostArray x(1, 1000), y(2, 1000), z(3, 1000);
  Double(x, y);
  Attempt breaking;
  EXPECT_EQ(breaking.On(lane(), "trig_identity", {&y}, z).code(), HOTPLATE_DEVICE_LOST);
  fake_.ForgetCalls();
  device_->Forget(1);
  EXPECT_FALSE(Send(HostArray(9, 100), 0, 100));
  EXPECT_EQ(device_->FreeBytes(), 0u);
  Attempt after;
  EXPECT_EQ(after.On(lane(), "selu", {&x}, y).code(), HOTPLATE_DEVICE_LOST);
  EXPECT_THAT(fake_.Calls(), IsEmpty());
  lanes_.clear();
  fake_.ForgetCalls();
  device_.reset();
  EXPECT_EQ(CallsOf("cuMemFreeAsync") + CallsOf("cuStreamSynchronize") + CallsOf("cuEventSynchronize"), 0);
}

// Whichever call fails, no task ever computes with half a copy, and nothing is left once all is forgotten.
TEST_F(ResidentTest, EveryCallIsChecked) {
  Open();
  int failed = 0, left = 0;
  bool all_went_well = false;
  for (std::uint64_t id = 1; failed < 200 && !all_went_well; ++failed, id += 2) {
    HostArray x(id, 1000, static_cast<float>(id)), y(id + 1, 1000);
    FakeScript script;
    script.fail_at = failed + 1;
    script.fail_code = 999;
    fake_.Change(script);
    const bool sent = Send(x, 0, 500);
    Attempt run;
    const Outcome outcome = run.On(lane(), "selu", {&x}, y);
    fake_.Change({});
    all_went_well = sent && outcome.ok();
    if (outcome.ok()) {
      EXPECT_TRUE(Doubled(y, x)) << failed;
    }
    Double(x, y);
    device_->Forget(id);
    device_->Forget(id + 1);
    // What CUDA does not take back is lost, and nothing else.
    EXPECT_LE(fake_.Counts().allocations, left + 1) << failed;
    left = fake_.Counts().allocations;
  }
  EXPECT_GE(failed, 25);
  EXPECT_LE(left, 3);
  lanes_.clear();
  device_.reset();
  EXPECT_THAT(fake_.Misuse(), ::testing::SizeIs(left)) << "blocks that were left, and nothing else";
  fake_.Reset({});
}

// Lanes, uploads ahead and ends of arrays, all at once on a device that is too small for all of it.
TEST_F(ResidentTest, ManyAtOnce) {
  constexpr int kLanes = 3, kArrays = 12, kRounds = 60;
  OpenWith(48 * kMiB, kLanes);
  const std::uint64_t before = Sampled().pool_used_bytes;
  std::atomic<std::uint64_t> next{100};
  for (int generation = 0; generation < 3; ++generation) {
    std::vector<HostArray> arrays;
    for (int i = 0; i < kArrays; ++i) {
      arrays.emplace_back(next++, static_cast<std::size_t>((i % 4 + 1) * 500'000), static_cast<float>(i + 1));
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < kLanes; ++i) {
      threads.emplace_back([&, i] {
        std::mt19937 random(static_cast<unsigned>(generation * 10 + i));
        for (int round = 0; round < kRounds / 3; ++round) {
          HostArray& in = arrays[random() % kArrays];
          HostArray out(random() % 2 == 0 ? next++ : 0, in.values.size());
          Double(in, out, static_cast<std::size_t>(i));
          if (out.identity != 0) device_->Forget(out.identity);
        }
      });
    }
    threads.emplace_back([&] {
      for (const HostArray& array : arrays) {
        const std::size_t n = array.values.size();
        for (std::size_t at = 0; at < n && Send(array, at, std::min(n, at + 300'000)); at += 300'000) {
        }
      }
    });
    for (std::thread& thread : threads) thread.join();
    for (const HostArray& array : arrays) device_->Forget(array.identity);
  }
  EXPECT_EQ(Sampled().resident_bytes, 0u);
  EXPECT_EQ(Sampled().pool_used_bytes, before);
  EXPECT_EQ(device_->FreeBytes(), 48 * kMiB);
  EXPECT_EQ(fake_.Counts().allocations, 0);
}

}  // namespace
}  // namespace hotplate
