// Outputs that stay on the device alone, against a fake driver: nothing is copied to the host before somebody wants it,
// and nothing is lost then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/cuda/resident_fixture.h"

namespace hotplate {
namespace {

using ::testing::HasSubstr;

class ResidentAloneTest : public ResidentTest {
 protected:
  void Run(HostArray& in, HostArray& out, std::size_t lane = 0) {
    Attempt run;
    const Outcome outcome = run.On(*lanes_[lane], "selu", {&in}, out);
    ASSERT_TRUE(outcome.ok()) << outcome.message();
  }
  void Fetch(HostArray& array) {
    const Outcome fetched = device_->Fetch(array.identity);
    EXPECT_TRUE(fetched.ok()) << fetched.message();
  }
  std::uint64_t CopiedOut() { return Copied("cuMemcpyDtoHAsync"); }
};

TEST_F(ResidentAloneTest, TenTasksInAChainCopyNothingOut) {
  Open();
  HostArray x(1, 100'000);
  std::deque<Output> y;
  for (std::uint64_t i = 0; i < 10; ++i) {
    y.emplace_back(i + 2, 100'000);
    Attempt run;
    HostArray& in = i == 0 ? x : y[i - 1];
    ASSERT_TRUE(run.On(lane(), "selu", {&in}, y[i]).ok());
    EXPECT_EQ(run.report.device_to_host_ns, HOTPLATE_CUDA_ABSENT);
    EXPECT_NE(run.report.kernel_ns, HOTPLATE_CUDA_ABSENT);
    EXPECT_TRUE(y[i].is_absent());
  }
  EXPECT_EQ(CallsOf("cuMemcpyDtoHAsync"), 0);
  EXPECT_EQ(CopiedIn(), 400'000u) << "the first input";
  Fetch(y[9]);
  EXPECT_EQ(CopiedOut(), 400'000u);
  EXPECT_FALSE(y[9].is_absent());
  EXPECT_TRUE(y[8].is_absent());
  for (std::size_t i = 0; i < 100'000; ++i) ASSERT_EQ(y[9].values[i], 1024 * x.values[i]);
  Fetch(y[9]);
  EXPECT_EQ(CopiedOut(), 400'000u) << "the host has it";
  EXPECT_FALSE(IsCopied(y[9])) << "and the device too";
}

TEST_F(ResidentAloneTest, WhatMakesRoomIsWrittenToTheHostFirst) {
  OpenWith(40 * kMiB);
  constexpr std::size_t kFloats = 8 * kMiB / 4;
  std::deque<HostArray> x;
  std::deque<Output> y;
  for (std::uint64_t i = 0; i < 6; ++i) {
    x.emplace_back(0, kFloats, static_cast<float>(i + 1));
    y.emplace_back(i + 1, kFloats);
  }
  for (const int i : {0, 1, 2, 3}) Run(x[i], y[i]);
  EXPECT_EQ(CopiedOut(), 0u);
  EXPECT_EQ(device_->FreeBytes(), 40 * kMiB) << "what nobody uses is free";
  Run(x[4], y[4]);
  EXPECT_EQ(CopiedOut(), 8 * kMiB) << "the oldest, and no other";
  EXPECT_FALSE(y[0].is_absent());
  EXPECT_TRUE(Doubled(y[0], x[0]));
  EXPECT_TRUE(y[1].is_absent());
  HostArray z(0, kFloats);
  Double(y[0], z);  // comes back from the host, and another goes
  for (const int i : {1, 2, 3, 4}) {
    Fetch(y[i]);
    EXPECT_TRUE(Doubled(y[i], x[i])) << i;
  }
}

TEST_F(ResidentAloneTest, WhatNobodyReadIsForgottenWithoutACopy) {
  Open();
  HostArray x(0, 1000);
  Output y(1, 1000);
  Run(x, y);
  device_->Forget(1);
  EXPECT_EQ(CopiedOut(), 0u);
  EXPECT_EQ(Sampled().resident_arrays, 0u);
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  Output z(2, 1000);
  Run(x, z);
  lanes_.clear();
  device_.reset();
  EXPECT_EQ(CopiedOut(), 0u) << "nor does the device's end copy anything";
}

TEST_F(ResidentAloneTest, TwoReadersMakeOneCopy) {
  Open();
  HostArray x(0, 3 * kChunk / 4);
  Output y(1, x.values.size());
  Run(x, y);
  fake_.ForgetCalls();
  fake_.Hold();
  std::thread first([&] { Fetch(y); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuMemcpyDtoHAsync") > 0; }));
  std::thread second([&] {
    Fetch(y);
    EXPECT_TRUE(Doubled(y, x)) << "who comes second waits for all of it";
  });
  fake_.Release();
  first.join();
  second.join();
  EXPECT_EQ(CopiedOut(), y.values.size() * 4);
  EXPECT_TRUE(Doubled(y, x));
}

// The host's memory goes when the device has forgotten the array: nothing may be written there any more.
TEST_F(ResidentAloneTest, ForgettingWaitsForACopyUnderWay) {
  Open();
  HostArray x(0, 1000);
  Output y(1, 1000);
  Run(x, y);
  fake_.Hold();
  std::thread reader([&] { Fetch(y); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuMemcpyDtoHAsync") > 0; }));
  std::atomic<bool> started{false};
  std::thread forgetter([&] {
    started = true;
    device_->Forget(1);
    EXPECT_FALSE(y.is_absent()) << "the copy was under way and must be over";
  });
  EXPECT_TRUE(Eventually([&] { return started.load(); }));
  for (int i = 0; i < 10'000; ++i) std::this_thread::yield();
  fake_.Release();
  reader.join();
  forgetter.join();
  EXPECT_EQ(Sampled().resident_bytes, 0u);
}

TEST_F(ResidentAloneTest, ALostDeviceHasNothingToFetch) {
  FakeScript script;
  script.breaking_kernels["trig_identity"] = kDriverIllegalAddress;
  Open(script);
  HostArray x(0, 1000), z(0, 1000);
  Output y(1, 1000);
  Run(x, y);
  Attempt breaking;
  EXPECT_EQ(breaking.On(lane(), "trig_identity", {&x}, z).code(), HOTPLATE_DEVICE_LOST);
  const Outcome fetched = device_->Fetch(1);
  EXPECT_EQ(fetched.code(), HOTPLATE_DEVICE_LOST);
  EXPECT_THAT(std::string(fetched.message()), HasSubstr("kernel trig_identity failed"));
  EXPECT_TRUE(y.is_absent());
  device_->Forget(1);
}

// A copy is the first to notice that the device is lost.
TEST_F(ResidentAloneTest, ACopyThatFindsTheDeviceBrokenSaysSo) {
  Open();
  HostArray x(0, 1000);
  Output y(1, 1000);
  Run(x, y);
  fake_.Break(device_->resident().stream(), kDriverIllegalAddress);
  const Outcome fetched = device_->Fetch(1);
  EXPECT_EQ(fetched.code(), HOTPLATE_DEVICE_LOST);
  EXPECT_THAT(std::string(fetched.message()), HasSubstr("gpu0 is lost: a copy to the host failed"));
  EXPECT_TRUE(y.is_absent());
  EXPECT_FALSE(device_->Usable().ok());
}

TEST_F(ResidentAloneTest, WhatCannotBeWrittenBackStays) {
  OpenWith(40 * kMiB);
  HostArray x(0, 8 * kMiB / 4);
  std::deque<Output> y;
  for (std::uint64_t i = 0; i < 5; ++i) y.emplace_back(i + 1, x.values.size());
  for (const int i : {0, 1, 2, 3}) Run(x, y[i]);
  FakeScript script = fake_.script();
  script.fail_call = "cuMemcpyDtoHAsync";
  script.fail_at = 1;
  script.fail_code = 999;
  fake_.Change(script);
  Run(x, y[4]);  // in what is left for libraries
  EXPECT_EQ(CallsOf("cuMemcpyDtoHAsync"), 1);
  EXPECT_EQ(Sampled().resident_arrays, 5u);
  for (Output& one : y) {
    EXPECT_TRUE(one.is_absent());
    Fetch(one);
    EXPECT_TRUE(Doubled(one, x));
  }
}

// Without pinned memory for a copy at any time, it is made at once.
TEST_F(ResidentAloneTest, WithoutPinnedMemoryNothingStaysAlone) {
  options_.pinned_bytes = 8 * kMiB;  // the lane's
  Open();
  HostArray x(0, 1000);
  Output y(1, 1000);
  Attempt run;
  ASSERT_TRUE(run.On(lane(), "selu", {&x}, y).ok());
  EXPECT_NE(run.report.device_to_host_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_FALSE(y.is_absent());
  EXPECT_TRUE(Doubled(y, x));
  EXPECT_FALSE(IsCopied(y)) << "but it stays";
}

// Whichever call fails: the output is right on the host, or it can still be fetched, or the task has failed.
TEST_F(ResidentAloneTest, EveryCallIsChecked) {
  Open();
  int failed = 0;
  bool any_failed = true;
  for (std::uint64_t id = 1; failed < 200 && any_failed; ++failed, ++id) {
    HostArray x(0, 1000, static_cast<float>(id));
    Output y(id, 1000);
    FakeScript script;
    script.fail_at = failed + 1;
    script.fail_code = 999;
    fake_.Change(script);
    fake_.ForgetCalls();
    Attempt run;
    const Outcome ran = run.On(lane(), "selu", {&x}, y);
    const Outcome fetched = ran.ok() ? device_->Fetch(id) : ran;
    fake_.Change({});
    any_failed = fake_.Calls().size() > static_cast<std::size_t>(failed);
    if (ran.ok()) {
      EXPECT_EQ(fetched.ok(), !y.is_absent()) << failed;
      Fetch(y);
      EXPECT_FALSE(y.is_absent()) << failed;
      EXPECT_TRUE(Doubled(y, x)) << failed;
    }
    device_->Forget(id);
  }
  EXPECT_GE(failed, 20);
  lanes_.clear();
  device_.reset();
  fake_.Reset({});  // blocks that CUDA did not take back
}

// Lanes, readers and ends of arrays, all at once on a device that is too small for all of it.
TEST_F(ResidentAloneTest, ManyAtOnce) {
  constexpr int kLanes = 3, kRounds = 20;
  OpenWith(32 * kMiB, kLanes);
  std::atomic<std::uint64_t> next{1};
  std::vector<std::thread> threads;
  for (int i = 0; i < kLanes; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      std::deque<std::pair<HostArray, Output>> mine;
      for (int round = 0; round < kRounds; ++round) {
        const std::size_t n = (random() % 4 + 1) * 300'000;
        auto& [in, out] = mine.emplace_back(HostArray(0, n, static_cast<float>(round + 1)), Output(next++, n));
        Run(in, out, static_cast<std::size_t>(i));
        if (random() % 2 == 0) {
          Output chained(0, n);
          chained.may_stay = false;
          Run(out, chained, static_cast<std::size_t>(i));
          for (std::size_t k = 0; k < n; k += 1000) ASSERT_EQ(chained.values[k], 4 * in.values[k]);
        }
        auto& [old_in, old_out] = mine[random() % mine.size()];
        if (random() % 2 == 0) {
          Fetch(old_out);
          ASSERT_FALSE(old_out.is_absent());
          ASSERT_TRUE(Doubled(old_out, old_in));
        }
        if (mine.size() > 6) {
          device_->Forget(mine.front().second.identity);
          mine.pop_front();
        }
      }
      for (auto& [in, out] : mine) {
        Fetch(out);
        ASSERT_TRUE(Doubled(out, in));
        device_->Forget(out.identity);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Sampled().resident_bytes, 0u);
  EXPECT_EQ(device_->FreeBytes(), 32 * kMiB);
  EXPECT_EQ(fake_.Counts().allocations, 0);
}

}  // namespace
}  // namespace hotplate
