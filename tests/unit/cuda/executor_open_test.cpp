// What the executor says of a device, and why it cannot use one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/cuda/executor_fixture.h"

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ExecutorTest, DescribesTheDevice) {
  FakeScript script;
  script.name = "NVIDIA H100 MIG 1g.10gb";
  ASSERT_TRUE(Open(script).ok());
  const hotplate_cuda_device_info& info = device_->info();
  EXPECT_STREQ(info.name, "NVIDIA H100 MIG 1g.10gb");
  EXPECT_STREQ(info.uuid, "MIG-00000000-0000-0000-0000-000000000010");
  EXPECT_STREQ(info.pci_bus_id, "00000000:60:00.0");
  EXPECT_STREQ(info.mode, "MIG");
  EXPECT_EQ(info.compute_major, 9);
  EXPECT_EQ(info.multiprocessors, 8);
}

TEST_F(ExecutorTest, NamesAnExclusiveDevice) {
  FakeScript script;
  script.compute_mode = kComputeModeExclusiveProcess;
  ASSERT_TRUE(Open(script).ok());
  EXPECT_STREQ(device_->info().mode, "EXCLUSIVE_PROCESS");
}

TEST_F(ExecutorTest, SaysWhyADeviceCannotBeUsed) {
  FakeScript taken;
  taken.taken = true;
  EXPECT_THAT(WhyNot(taken), HasSubstr("busy or unavailable"));
  taken.compute_mode = kComputeModeExclusiveProcess;
  EXPECT_EQ(WhyNot(taken), "its compute mode is EXCLUSIVE_PROCESS and another process has it");
  FakeScript prohibited;
  prohibited.compute_mode = kComputeModeProhibited;
  EXPECT_THAT(WhyNot(prohibited), HasSubstr("PROHIBITED"));
  FakeScript no_pools;
  no_pools.memory_pools = 0;
  EXPECT_THAT(WhyNot(no_pools), HasSubstr("no memory pools"));
  FakeScript no_code;
  no_code.no_code = true;
  no_code.compute_major = 6;
  no_code.compute_minor = 1;
  EXPECT_EQ(WhyNot(no_code), "compute capability 6.1 has no code in this plug-in (it has 75 80 90)");
}

TEST_F(ExecutorTest, RefusesAPrecisionThatTheDeviceHasNot) {
  FakeScript turing;
  turing.name = "Tesla T4";
  turing.compute_major = 7;
  turing.compute_minor = 5;
  ASSERT_TRUE(Open(turing).ok());
  EXPECT_TRUE(device_->CheckPrecision(HOTPLATE_PRECISION_DEFAULT).ok());
  EXPECT_TRUE(device_->CheckPrecision(HOTPLATE_PRECISION_F16).ok());
  for (const int precision : {HOTPLATE_PRECISION_TF32, HOTPLATE_PRECISION_BF16}) {
    const Outcome refused = device_->CheckPrecision(precision);
    EXPECT_EQ(refused.code(), HOTPLATE_INVALID);
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("compute capability 8.0"), HasSubstr("Tesla T4"), HasSubstr("7.5")));
    FloatTask task("vector_add", 10, precision);
    EXPECT_EQ(task.RunOn(lane()).code(), HOTPLATE_INVALID) << "whoever did not ask for a plan";
  }
}

TEST_F(ExecutorTest, ALibraryThatCannotPromiseTheSameBitsIsNotCalledForThem) {
  static constexpr CudaLibrary kCareless = {
      "libcareless.so.1", [](void*, LaneLibraries&) { return Outcome::Ok(); },
      [](const LaneLibraries&) { return Outcome::Invalid("it adds up as it likes"); }};
  static int runs = 0;
  constexpr CudaLauncher kLauncher = {"vector_add",
                                      [](const Call&, CudaContext&) {
                                        ++runs;
                                        return Outcome::Ok();
                                      },
                                      nullptr, &kCareless};
  ASSERT_TRUE(Open().ok());
  hotplate_control control{};
  hotplate_cuda_report report{};
  hotplate_call call{};
  lane().Run(kLauncher, call, control, report);
  EXPECT_EQ(report.outcome.code, HOTPLATE_OK) << report.outcome.message;
  call.deterministic = 1;
  lane().Run(kLauncher, call, control, report);
  EXPECT_EQ(report.outcome.code, HOTPLATE_INVALID);
  EXPECT_EQ(std::string(report.outcome.message), "it adds up as it likes");
  EXPECT_EQ(runs, 1);
}

TEST_F(ExecutorTest, RefusedPinnedMemoryIsSaid) {
  FakeScript script;
  script.pinnable_bytes = kMiB;
  const Outcome why = Open(script);
  EXPECT_EQ(why.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(why.message()), HasSubstr("pinned host memory: out of memory (CUDA_ERROR_OUT_OF_MEMORY)"));
}

// The same for opening: no lane and no device is half there (the fixture counts what is left).
TEST_F(ExecutorTest, OpeningChecksEveryCall) {
  int failed = 0;
  for (; failed < 100; ++failed) {
    FakeScript script;
    script.fail_at = failed + 1;
    script.fail_code = 999;
    const Outcome why = Open(script, 2);
    lanes_.clear();
    device_.reset();
    fake_.Change({});
    EXPECT_THAT(fake_.Misuse(), IsEmpty());
    if (why.ok()) break;
    EXPECT_THAT(std::string(why.message()), HasSubstr("CUDA_ERROR_UNKNOWN"));
    EXPECT_EQ(fake_.Counts().streams + fake_.Counts().events + fake_.Counts().contexts, 0) << failed;
  }
  EXPECT_GE(failed, 40);
}

}  // namespace
}  // namespace hotplate
