// Arrays that go from one device straight to another, against a fake driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/unit/cuda/resident_fixture.h"

namespace hotplate {
namespace {

using ::testing::HasSubstr;

class ResidentPeerTest : public ResidentTest {
 protected:
  ~ResidentPeerTest() override {
    fake_.Release();
    there_lane_.reset();
    there_.reset();
  }
  void OpenTwo(FakeScript script = {}) {
    script.devices = 2;
    Open(script);
    options_.index = 1;
    Outcome why = Outcome::Ok();
    there_ = DeviceExecutor::Open(options_, nullptr, nullptr, why);
    ASSERT_NE(there_, nullptr) << why.message();
    there_lane_ = LaneExecutor::Open(*there_, why);
    ASSERT_NE(there_lane_, nullptr) << why.message();
  }
  void Run(LaneExecutor& lane, HostArray& in, HostArray& out) {
    Attempt run;
    const Outcome outcome = run.On(lane, "selu", {&in}, out);
    ASSERT_TRUE(outcome.ok()) << outcome.message();
  }
  // By the second device, from the first.
  Outcome Take(const HostArray& array) { return there_->TakeFrom(*device_, array.identity, array.values.size() * 4); }
  std::uint64_t CopiedOut() { return Copied("cuMemcpyDtoHAsync"); }

  std::unique_ptr<DeviceExecutor> there_;
  std::unique_ptr<LaneExecutor> there_lane_;
};

TEST_F(ResidentPeerTest, AnArrayGoesStraightToTheOtherDevice) {
  OpenTwo();
  HostArray x(0, 100'000);
  Output y(1, x.values.size()), z(2, x.values.size());
  Run(lane(), x, y);
  fake_.ForgetCalls();
  ASSERT_TRUE(Take(y).ok());
  EXPECT_EQ(Copied("cuMemcpyPeerAsync"), 400'000u);
  Run(*there_lane_, y, z);
  EXPECT_EQ(CopiedIn() + CopiedOut(), 0u);
  EXPECT_TRUE(y.is_absent());
  EXPECT_TRUE(there_->Fetch(1).ok());
  EXPECT_FALSE(y.is_absent());
  EXPECT_TRUE(Doubled(y, x));
  EXPECT_TRUE(there_->Fetch(2).ok());
  EXPECT_TRUE(Doubled(z, y));
}

TEST_F(ResidentPeerTest, WhatTheFirstDeviceKeepsIsDroppedWithoutACopy) {
  OpenTwo();
  HostArray x(0, 1000);
  Output y(1, 1000);
  Run(lane(), x, y);
  ASSERT_TRUE(Take(y).ok());
  EXPECT_TRUE(device_->Fetch(1).ok());
  EXPECT_EQ(CopiedOut(), 0u) << "it has nothing to give to the host any more";
  EXPECT_GT(device_->resident().Evict(UINT64_MAX, device_->resident().stream()), 0u);
  EXPECT_EQ(CopiedOut(), 0u);
  EXPECT_TRUE(there_->Fetch(1).ok());
  EXPECT_TRUE(Doubled(y, x));
}

TEST_F(ResidentPeerTest, AnArrayThatComesBackIsCopiedOnce) {
  OpenTwo();
  HostArray x(0, 1000);
  Output y(1, 1000);
  Run(lane(), x, y);
  ASSERT_TRUE(Take(y).ok());
  fake_.ForgetCalls();
  ASSERT_TRUE(device_->TakeFrom(*there_, 1, 4000).ok());
  EXPECT_EQ(Copied("cuMemcpyPeerAsync"), 0u) << "it was here before";
  there_->Forget(1);
  EXPECT_TRUE(device_->Fetch(1).ok());
  EXPECT_TRUE(Doubled(y, x));
}

TEST_F(ResidentPeerTest, WithoutPeerAccessNothingChanges) {
  FakeScript script;
  script.peers = false;
  OpenTwo(script);
  HostArray x(0, 1000);
  Output y(1, 1000);
  Run(lane(), x, y);
  const Outcome taken = Take(y);
  EXPECT_EQ(taken.code(), HOTPLATE_FAILED);
  EXPECT_THAT(std::string(taken.message()), HasSubstr("gpu1 has no peer access to gpu0"));
  EXPECT_EQ(CallsOf("cuMemcpyPeerAsync"), 0);
  EXPECT_TRUE(device_->Fetch(1).ok());
  EXPECT_TRUE(Doubled(y, x));
}

TEST_F(ResidentPeerTest, WithoutPinnedMemoryNothingChanges) {
  HostArray x(0, 1000);
  Output y(1, 1000);
  OpenTwo();
  Run(lane(), x, y);
  there_lane_.reset();
  there_.reset();
  options_.pinned_bytes = 0;
  Outcome why = Outcome::Ok();
  there_ = DeviceExecutor::Open(options_, nullptr, nullptr, why);
  ASSERT_NE(there_, nullptr) << why.message();
  const Outcome taken = Take(y);
  EXPECT_THAT(std::string(taken.message()), HasSubstr("no pinned memory to copy it to the host"));
  EXPECT_TRUE(device_->Fetch(1).ok());
  EXPECT_TRUE(Doubled(y, x));
}

TEST_F(ResidentPeerTest, WhereThereIsNoRoomNothingChanges) {
  OpenTwo();
  HostArray x(0, 1000);
  Output y(1, 1000);
  Run(lane(), x, y);
  FakeScript script = fake_.script();
  script.fail_call = "cuMemAllocFromPoolAsync";
  script.fail_at = 1;
  script.fail_code = 999;
  fake_.Change(script);
  EXPECT_FALSE(Take(y).ok());
  EXPECT_TRUE(device_->Fetch(1).ok());
  EXPECT_TRUE(Doubled(y, x));
}

TEST_F(ResidentPeerTest, WhatTheHostHasMeanwhileIsACopy) {
  OpenTwo();
  HostArray x(0, 1000);
  Output y(1, 1000);
  Run(lane(), x, y);
  ASSERT_TRUE(device_->Fetch(1).ok());
  ASSERT_TRUE(Take(y).ok());
  fake_.ForgetCalls();
  EXPECT_TRUE(there_->Fetch(1).ok());
  EXPECT_EQ(CopiedOut(), 0u);
  device_->Forget(1);
  ASSERT_TRUE(Take(y).ok()) << "it is not there any more, and the host has it";
}

// Whichever call fails: the array lies on one of the two, and can be fetched from there.
TEST_F(ResidentPeerTest, EveryCallIsChecked) {
  OpenTwo();
  HostArray x(0, 1000);
  int failed = 0;
  for (int at = 1; at < 60; ++at) {
    Output y(static_cast<std::uint64_t>(100 + at), 1000);
    Run(lane(), x, y);
    FakeScript script = fake_.script();
    script.fail_at = at;
    script.fail_code = 999;
    fake_.Change(script);
    const Outcome taken = Take(y);
    script.fail_at = 0;
    fake_.Change(script);
    failed += taken.ok() ? 0 : 1;
    ASSERT_TRUE(there_->Usable().ok()) << there_->Usable().message();
    EXPECT_TRUE(device_->Fetch(y.identity).ok());
    EXPECT_TRUE(there_->Fetch(y.identity).ok());
    ASSERT_FALSE(y.is_absent()) << at;
    EXPECT_TRUE(Doubled(y, x)) << at;
    device_->Forget(y.identity);
    there_->Forget(y.identity);
  }
  EXPECT_GT(failed, 5);
  EXPECT_LT(failed, 40) << "calls enough were tried";
}

TEST_F(ResidentPeerTest, ABrokenDeviceGivesNothing) {
  OpenTwo();
  HostArray x(0, 1000);
  Output y(1, 1000);
  Run(lane(), x, y);
  ASSERT_TRUE(there_->CanWriteBack());
  fake_.Break(there_->resident().stream(), kDriverIllegalAddress);
  EXPECT_FALSE(Take(y).ok());
  EXPECT_FALSE(there_->Usable().ok());
  EXPECT_TRUE(device_->Fetch(1).ok());
  EXPECT_TRUE(Doubled(y, x));
}

// In both directions, while both devices write arrays to the host.
TEST_F(ResidentPeerTest, TwoDevicesTakeFromEachOtherAtTheSameTime) {
  OpenTwo();
  HostArray x(0, 1000);
  constexpr int kTimes = 200;
  for (int i = 0; i < kTimes; ++i) {
    Output y(static_cast<std::uint64_t>(10 + 2 * i), 1000), z(static_cast<std::uint64_t>(11 + 2 * i), 1000);
    Run(lane(), x, y);
    Run(*there_lane_, x, z);
    std::thread there([&] { EXPECT_TRUE(Take(y).ok()); });
    std::thread here([&] { EXPECT_TRUE(device_->TakeFrom(*there_, z.identity, 4000).ok()); });
    std::thread writer([&] { EXPECT_TRUE(device_->Fetch(y.identity).ok()); });
    there.join();
    here.join();
    writer.join();
    for (DeviceExecutor* const device : {device_.get(), there_.get()}) {
      EXPECT_TRUE(device->Fetch(y.identity).ok());
      EXPECT_TRUE(device->Fetch(z.identity).ok());
    }
    ASSERT_TRUE(Doubled(y, x));
    ASSERT_TRUE(Doubled(z, x));
    for (DeviceExecutor* const device : {device_.get(), there_.get()}) {
      device->Forget(y.identity);
      device->Forget(z.identity);
    }
  }
}

}  // namespace
}  // namespace hotplate
