// Arrays that come to the device ahead of tasks, against a fake driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/cuda/resident_fixture.h"

namespace hotplate {
namespace {

TEST_F(ResidentTest, AnUploadAheadIsThereForTheTask) {
  Open();
  HostArray x(1, 100'000), y(0, 100'000);
  EXPECT_TRUE(Send(x, 0, 30'000));
  EXPECT_EQ(CopiedIn(), 120'000u) << "before the rest has come";
  EXPECT_TRUE(Send(x, 30'000, 100'000));
  fake_.ForgetCalls();
  Attempt run;
  ASSERT_TRUE(run.On(lane(), "selu", {&x}, y).ok());
  EXPECT_TRUE(Doubled(y, x));
  EXPECT_EQ(CopiedIn(), 0u);
  EXPECT_EQ(run.report.host_to_device_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_FALSE(Send(x, 0, 100'000)) << "it is there";
}

// The copies that are ahead need not be over: the task comes after them on the device, not on the host.
TEST_F(ResidentTest, ATaskWaitsForTheUploadOnTheDevice) {
  Open();
  HostArray x(1, 100'000), y(0, 100'000);
  fake_.Hold();
  EXPECT_TRUE(Send(x, 0, 100'000));
  std::thread runner([&] { Double(x, y); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuLaunchHostFunc") == 1; }));
  fake_.Release();
  runner.join();
}

TEST_F(ResidentTest, ATaskCopiesWhatAnUploadHasNot) {
  Open();
  HostArray x(1, 100'000), y(0, 100'000);
  EXPECT_TRUE(Send(x, 0, 30'000));
  fake_.ForgetCalls();
  Double(x, y);
  EXPECT_EQ(CopiedIn(), 280'000u);
  EXPECT_FALSE(Send(x, 30'000, 60'000)) << "the task was faster";
  EXPECT_FALSE(IsCopied(x));
}

TEST_F(ResidentTest, AnUploadThatIsForgottenLeavesNothing) {
  Open();
  HostArray x(1, 100'000);
  EXPECT_TRUE(Send(x, 0, 30'000));
  EXPECT_EQ(Sampled().resident_bytes, ResidentArrays::MemoryBytes(400'000));
  device_->Forget(1);
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  EXPECT_FALSE(Send(x, 30'000, 60'000)) << "its beginning is missing";
  EXPECT_EQ(Sampled().resident_arrays, 0u);
}

TEST_F(ResidentTest, UploadsAreRefusedWhereTheyCannotBe) {
  OpenWith(40 * kMiB);
  HostArray large(1, 48 * kMiB / 4), x(2, 24 * kMiB / 4), y(3, 24 * kMiB / 4);
  EXPECT_FALSE(Send(large, 0, 1000)) << "no device memory for it";
  EXPECT_TRUE(Send(x, 0, 1000));
  EXPECT_TRUE(Send(y, 0, 1000)) << "the other makes room";
  EXPECT_FALSE(Send(x, 1000, 2000)) << "and is gone";
  EXPECT_EQ(Sampled().resident_arrays, 1u);
  EXPECT_FALSE(Send(y, 2000, 3000)) << "a piece is missing";
  const std::byte byte{};
  EXPECT_FALSE(device_->Upload(0, 1, 0, &byte, 1));
  EXPECT_FALSE(device_->Upload(5, 1, 1, &byte, 1));
  EXPECT_FALSE(device_->Upload(5, 1, 0, &byte, 0));
  EXPECT_FALSE(device_->Upload(5, 1, UINT64_MAX, &byte, 2));
}

TEST_F(ResidentTest, WithoutPinnedMemoryNothingIsAhead) {
  options_.pinned_bytes = 2 * kChunk;  // the lane's
  Open();
  HostArray x(1, 1000), y(0, 1000);
  EXPECT_FALSE(Send(x, 0, 1000));
  EXPECT_EQ(Sampled().resident_arrays, 0u);
  EXPECT_TRUE(IsCopied(x));
}

}  // namespace
}  // namespace hotplate
