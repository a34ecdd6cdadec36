// Jobs on a GPU as the daemon runs them, from the engine to the driver, which is a fake and counts its copies; the
// kernels run on the host. Where arrays lie, and when they are copied.
#include "server/core/engine.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "kernels/devices/cuda/executor/driver.h"
#include "tests/temporary_folder.h"
#include "tests/unit/core/fakes.h"
#include "tests/unit/cuda/fakes.h"

namespace hotplate::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class CudaEngineTest : public ::testing::Test {
 protected:
  CudaEngineTest() {
    std::filesystem::copy_file(HOTPLATE_FAKES "/host_kernels.so", folder_.File("libhotplate_cuda13.so"));
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("HOTPLATE_NVML_LIBRARY", HOTPLATE_FAKES "/nvml.so", 1);
    fake_.Reset({});
  }
  ~CudaEngineTest() override {
    engine_.reset();
    store_.reset();
    EXPECT_EQ(fake_.Counts(), FakeCounts{});
    EXPECT_THAT(fake_.Misuse(), ::testing::IsEmpty());
  }

  void Start(const FakeScript& script = {}) {
    fake_.Reset(script);
    CudaOptions options;
    options.plugin_folder = folder_.path();
    options.driver_library = HOTPLATE_FAKES "/driver.so";
    DeviceSet set = OpenCudaDevices(options, BuiltinCatalog());
    ASSERT_EQ(set.devices.size(), static_cast<std::size_t>(script.devices)) << ::testing::PrintToString(set.notes);
    store_ = std::make_unique<ArrayStore>(
        ArrayLimits{.total_bytes = std::uint64_t{1} << 30, .array_bytes = std::uint64_t{1} << 29}, clock_);
    EngineOptions engine;
    engine.reopen = {.first_pause = std::chrono::milliseconds(1), .longest_pause = std::chrono::milliseconds(4)};
    engine.log = [this](LogLevel, const std::string& text) {
      const std::scoped_lock lock(mutex_);
      log_.push_back(text);
    };
    engine_ = std::make_unique<Engine>(engine, BuiltinCatalog(), std::move(set), *store_, clock_);
  }

  // selu with lambda 2 of positive numbers: twice as much.
  JobRequest Doubling(const std::string& from, const std::string& to, const std::string& device = "gpu0") {
    JobRequest request;
    request.kernel = "selu";
    request.params = {{"alpha", 1.0}, {"lambda", 2.0}};
    JobInput& x = request.inputs.emplace_back();
    x.name = "x";
    if (from.empty()) {
      x.signature = {DType::kFloat32, {static_cast<std::int64_t>(count_)}};
      std::vector<float> values(count_);
      std::iota(values.begin(), values.end(), 1.0F);
      x.source = Floats(values);
    } else {
      x.source = from;
    }
    request.outputs = {{"y", true, to, std::nullopt}};
    request.device = device;
    return request;
  }
  std::shared_ptr<const JobEnd> Run(JobRequest request) {
    const auto id = engine_->Submit(kAlice, std::move(request), recorder_, ++tag_);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.ok() ? recorder_->AwaitEnd(tag_) : nullptr;
  }
  std::shared_ptr<const JobEnd> Double(const std::string& from, const std::string& to,
                                       const std::string& device = "gpu0") {
    auto end = Run(Doubling(from, to, device));
    EXPECT_TRUE(end != nullptr && end->error.ok()) << (end == nullptr ? absl::OkStatus() : end->error);
    return end;
  }
  // A job on the array that loses gpu0, where the script says so of trig_identity.
  void Break(const std::string& from) {
    JobRequest breaking = Doubling(from, "");
    breaking.kernel = "trig_identity";
    breaking.params.clear();
    EXPECT_EQ(Run(breaking)->state, JobState::kFailed);
  }
  // Whether the array has what `doublings` make of the numbers.
  void ExpectDoubled(const std::string& name, int doublings) {
    const auto reader = store_->Open(kAlice, name);
    ASSERT_TRUE(reader.ok()) << reader.status();
    const absl::Status fetched = store_->Fetch(reader->buffer);
    ASSERT_TRUE(fetched.ok()) << fetched;
    const std::vector<float> values = ToFloats(*reader->buffer);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], std::ldexp(static_cast<float>(i + 1), doublings)) << name << ", " << i;
    }
  }
  // Bytes of copies.
  std::uint64_t Copied(const std::string& name) {
    std::uint64_t sum = 0;
    for (const std::string& call : fake_.Calls()) {
      if (call.starts_with(name)) sum += std::stoull(call.substr(name.size() + 1));
    }
    return sum;
  }
  std::uint64_t CopiedOut() { return Copied("cuMemcpyDtoHAsync"); }

  FakeCuda& fake_ = FakeCudaOf(dlopen(HOTPLATE_FAKES "/driver.so", RTLD_NOW));
  TemporaryFolder folder_;
  FakeClock clock_;
  std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
  std::unique_ptr<ArrayStore> store_;
  std::unique_ptr<Engine> engine_;
  std::uint64_t tag_ = 0;
  std::size_t count_ = 100'000;
  std::mutex mutex_;
  std::vector<std::string> log_;  // guarded by mutex_
};

TEST_F(CudaEngineTest, TenKeptJobsInAChainCopyNothingBeforeTheFirstGet) {
  Start();
  Double("", "A1");
  for (int i = 2; i <= 10; ++i) {
    const auto end = Double(absl::StrCat("A", i - 1), absl::StrCat("A", i));
    EXPECT_FALSE(end->receipt->host_to_device || end->receipt->device_to_host || end->receipt->load);
    EXPECT_TRUE(end->receipt->kernel);
  }
  EXPECT_EQ(CopiedOut(), 0u);
  EXPECT_EQ(Copied("cuMemcpyHtoDAsync"), 400'000u) << "the first job's input";
  ExpectDoubled("A10", 10);
  EXPECT_EQ(CopiedOut(), 400'000u);
  ExpectDoubled("A10", 10);
  EXPECT_EQ(CopiedOut(), 400'000u);
  ExpectDoubled("A3", 3);
  EXPECT_EQ(CopiedOut(), 800'000u);
}

TEST_F(CudaEngineTest, WhatMakesRoomKeepsItsValues) {
  FakeScript script;
  script.memory_bytes = (256 + 32) * kMiB;
  count_ = 8 * kMiB / 4;
  Start(script);
  Double("", "A1");
  for (int i = 2; i <= 8; ++i) Double(absl::StrCat("A", i - 1), absl::StrCat("A", i));
  EXPECT_GT(CopiedOut(), 0u);
  EXPECT_EQ(store_->Describe(kAlice, "A1")->location, "host");
  EXPECT_EQ(store_->Describe(kAlice, "A8")->location, "gpu0");
  for (int i = 1; i <= 8; ++i) ExpectDoubled(absl::StrCat("A", i), i);
  EXPECT_EQ(CopiedOut(), 8 * 8 * kMiB) << "each once, for whichever reason";
}

TEST_F(CudaEngineTest, WhatIsNeverReadIsNeverCopied) {
  Start();
  Double("", "A1");
  Double("A1", "A2");
  ASSERT_TRUE(store_->Free(kAlice, "A1").ok());
  ASSERT_TRUE(store_->Free(kAlice, "A2").ok());
  EXPECT_TRUE(Eventually([&] { return engine_->SampleDevice(0).resident_arrays == 0u; }));
  EXPECT_EQ(CopiedOut(), 0u);
  EXPECT_EQ(store_->bytes_held(), 0u);
}

TEST_F(CudaEngineTest, AnotherGpuGetsItStraight) {
  FakeScript script;
  script.devices = 2;
  Start(script);
  Double("", "A1");
  const auto end = Double("A1", "A2", "gpu1");
  EXPECT_TRUE(end->receipt->load);
  EXPECT_EQ(CopiedOut(), 0u);
  EXPECT_EQ(store_->Describe(kAlice, "A1")->location, "gpu1");
  ExpectDoubled("A2", 2);
  ExpectDoubled("A1", 1);
  EXPECT_EQ(CopiedOut(), 800'000u);
}

TEST_F(CudaEngineTest, WithoutPeerAccessAnotherGpuGetsItByTheHost) {
  FakeScript script;
  script.devices = 2;
  script.peers = false;
  Start(script);
  Double("", "A1");
  const auto end = Double("A1", "A2", "gpu1");
  EXPECT_TRUE(end->receipt->load);
  EXPECT_TRUE(end->receipt->host_to_device);
  EXPECT_EQ(CopiedOut(), 400'000u);
  ExpectDoubled("A2", 2);
  ExpectDoubled("A1", 1);
  EXPECT_EQ(CopiedOut(), 800'000u);
}

TEST_F(CudaEngineTest, ALostGpuTakesItsOnlyCopiesAlong) {
  FakeScript script;
  script.breaking_kernels["trig_identity"] = kDriverIllegalAddress;
  Start(script);
  Double("", "A1");
  Double("A1", "A2");
  ExpectDoubled("A2", 2);
  Break("A1");
  {
    const std::scoped_lock lock(mutex_);
    EXPECT_THAT(log_, Contains("lost with device gpu0, which had their only copy: array A1"));
  }
  const absl::Status lost = store_->Open(kAlice, "A1").status();
  EXPECT_EQ(lost.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(lost.message()), AllOf(HasSubstr("array A1: it is lost"), HasSubstr("trig_identity")));
  ExpectDoubled("A2", 2);
}

TEST_F(CudaEngineTest, AGpuComesBackWithoutItsArraysAndKeepsNewOnes) {
  FakeScript script;
  script.breaking_kernels["trig_identity"] = kDriverIllegalAddress;
  script.heals = true;
  Start(script);
  Double("", "A1");
  Double("A1", "A2");
  Break("A1");
  ASSERT_TRUE(Eventually([&] { return engine_->Status().devices[0].lost.empty(); }));
  ASSERT_TRUE(store_->Free(kAlice, "A1").ok());
  Double("", "B1");
  Double("B1", "B2");
  EXPECT_EQ(store_->Describe(kAlice, "B2")->location, "gpu0");
  ExpectDoubled("B2", 2);
  EXPECT_EQ(CopiedOut(), 400'000u);
  const absl::Status lost = store_->Open(kAlice, "A2").status();
  EXPECT_THAT(std::string(lost.message()), HasSubstr("array A2: it is lost"));
}

}  // namespace
}  // namespace hotplate::core::testing
