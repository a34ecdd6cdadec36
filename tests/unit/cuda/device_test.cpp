// The whole of the CUDA back-end but for its kernels: the loader, the plug-in with kernels that run on the host, and a
// fake driver; as the daemon's core sees it.
#include "kernels/devices/device.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "kernels/devices/cuda/executor/driver.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cuda/fakes.h"

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class CudaDeviceTest : public ::testing::Test {
 protected:
  CudaDeviceTest() {
    std::filesystem::copy_file(HOTPLATE_FAKES "/host_kernels.so", folder_.File("libhotplate_cuda13.so"));
    options_.plugin_folder = folder_.path();
    options_.driver_library = HOTPLATE_FAKES "/driver.so";
    options_.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
    setenv("HOTPLATE_NVML_LIBRARY", HOTPLATE_FAKES "/nvml.so", 1);
    unsetenv("HOTPLATE_FAKE_NVML");
    unsetenv("CUDA_VISIBLE_DEVICES");
    fake_.Reset({});
  }
  ~CudaDeviceTest() override {
    lane_.reset();
    set_ = {};
    EXPECT_EQ(fake_.Counts(), FakeCounts{});
    EXPECT_THAT(fake_.Misuse(), ::testing::IsEmpty());
  }

  void Open(const FakeScript& script = {}) {
    fake_.Reset(script);
    set_ = OpenCudaDevices(options_, BuiltinCatalog());
    ASSERT_THAT(set_.devices, SizeIs(script.devices)) << ::testing::PrintToString(set_.notes);
    auto lane = set_.devices[0]->OpenLane();
    ASSERT_TRUE(lane.ok()) << lane.status();
    lane_ = *std::move(lane);
  }
  Device& device() { return *set_.devices[0]; }

  // vector_add of n floats, or selu of the first.
  Report Run(const char* kernel, std::size_t n) {
    a_.assign(n, 1);
    b_.assign(n, 2);
    out_.assign(n, 0);
    const bool binary = std::string(kernel) == "vector_add";
    hotplate_array arrays[3] = {FloatView(binary ? "a" : "x", a_), FloatView("b", b_),
                                FloatView(binary ? "c" : "y", out_)};
    hotplate_param params[2] = {};
    params[0].name = "alpha";
    params[1].name = "lambda";
    params[1].real = 2;
    Task task;
    task.kernel = kernel;
    task.call.params = params;
    task.call.param_count = 2;
    task.call.inputs = arrays;
    task.call.input_count = binary ? 2 : 1;
    task.call.outputs = &arrays[2];
    task.call.output_count = 1;
    TaskControl control;
    return lane_->Run(task, control);
  }
  static absl::StatusOr<BoundCall> Bound(const std::string& kernel, const std::map<std::string, Signature>& inputs,
                                         int precision = HOTPLATE_PRECISION_DEFAULT) {
    const absl::StatusOr<SharedSpec> spec = BuiltinCatalog().Find(kernel);
    if (!spec.ok()) return spec.status();
    return (*spec)->Bind({}, inputs, precision);
  }

  FakeCuda& fake_ = FakeCudaOf(dlopen(HOTPLATE_FAKES "/driver.so", RTLD_NOW));
  TemporaryFolder folder_;
  CudaOptions options_;
  DeviceSet set_;
  std::unique_ptr<Lane> lane_;
  std::vector<float> a_, b_, out_;
  std::mutex mutex_;
  std::vector<std::string> lines_;  // guarded by mutex_
};

TEST_F(CudaDeviceTest, LoadsAndAnswers) {
  Open();
  const DeviceInfo& info = device().info();
  EXPECT_EQ(info.id, "gpu0");
  EXPECT_EQ(info.name, "NVIDIA Fake 90");
  EXPECT_EQ(info.compute_capability, "9.0");
  EXPECT_EQ(info.memory_bytes, std::uint64_t{768} << 20);
  EXPECT_FALSE(info.host_memory);
  const Report report = Run("vector_add", 1000);
  ASSERT_TRUE(report.outcome.ok()) << report.outcome.message();
  EXPECT_EQ(out_, std::vector<float>(1000, 3));
  EXPECT_TRUE(report.host_to_device_ns.has_value());
  EXPECT_TRUE(report.kernel_ns.has_value());
  EXPECT_TRUE(report.device_to_host_ns.has_value());
  const DeviceMetrics metrics = device().Sample();
  EXPECT_EQ(metrics.pool_used_bytes, 0u);
  EXPECT_EQ(metrics.pool_peak_bytes, 3u * 4096);
  EXPECT_EQ(metrics.pinned_bytes, std::uint64_t{8} << 20);
}

TEST_F(CudaDeviceTest, PlansExactly) {
  Open();
  // Arrays of 400 bytes lie on multiples of 256; matmul's scratch in the fake is as large as its result.
  const auto sum = Bound("vector_add", {{"a", {DType::kFloat32, {100}}}, {"b", {DType::kFloat32, {100}}}});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(device().Plan(*sum)->scratch_bytes, 3u * 112);
  const auto product = Bound("matmul", {{"a", {DType::kFloat32, {8, 8}}}, {"b", {DType::kFloat32, {8, 8}}}});
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_EQ(device().Plan(*product)->scratch_bytes, 256u);
}

TEST_F(CudaDeviceTest, RefusesAPrecisionAtThePlan) {
  FakeScript volta;
  volta.name = "Tesla V100";
  volta.compute_major = 7;
  Open(volta);
  const std::map<std::string, Signature> inputs = {{"a", {DType::kFloat32, {8, 8}}}, {"b", {DType::kFloat32, {8, 8}}}};
  const auto bf16 = Bound("matmul", inputs, HOTPLATE_PRECISION_BF16);
  ASSERT_TRUE(bf16.ok()) << bf16.status();
  const auto plan = device().Plan(*bf16);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(plan.status().message()),
              AllOf(HasSubstr("gpu0 cannot run matmul: precision bf16 needs compute capability 8.0"),
                    HasSubstr("(Tesla V100) has 7.0")));
  const auto f16 = Bound("matmul", inputs, HOTPLATE_PRECISION_F16);
  ASSERT_TRUE(f16.ok()) << f16.status();
  EXPECT_TRUE(device().Plan(*f16).ok());
}

TEST_F(CudaDeviceTest, RefusesAKernelWithoutCudaCode) {
  Open();
  const auto qr = Bound("qr", {{"a", {DType::kFloat32, {8, 8}}}});
  ASSERT_TRUE(qr.ok()) << qr.status();
  const auto plan = device().Plan(*qr);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(plan.status().message()),
            "gpu0 cannot run qr: there is no CUDA code of this kernel; run it on the CPU");
  EXPECT_TRUE(device().Offers("vector_add").ok());
}

TEST_F(CudaDeviceTest, IsHealthyAfterOutOfMemory) {
  FakeScript script;
  script.memory_bytes = std::uint64_t{260} << 20;
  Open(script);
  const Report report = Run("vector_add", 23'000'000);
  EXPECT_EQ(report.outcome.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(report.outcome.message()), AllOf(HasSubstr("bytes needed"), HasSubstr("bytes free")));
  EXPECT_TRUE(Run("vector_add", 1000).outcome.ok());
  EXPECT_EQ(out_, std::vector<float>(1000, 3));
  EXPECT_EQ(device().FreeBytes(), std::uint64_t{4} << 20);
}

// The driver is asked now and then, but after each task.
TEST_F(CudaDeviceTest, FreeMemoryIsRemembered) {
  FakeScript script;
  Open(script);
  fake_.ForgetCalls();
  constexpr int kAsked = 10'000;
  for (int i = 0; i < kAsked; ++i) ASSERT_EQ(device().FreeBytes(), std::uint64_t{768} << 20);
  EXPECT_LT(fake_.Calls().size(), std::size_t{kAsked});
  script.others_bytes = std::uint64_t{100} << 20;
  fake_.Change(script);
  EXPECT_TRUE(Run("vector_add", 10).outcome.ok());
  EXPECT_LE(device().FreeBytes(), std::uint64_t{668} << 20);
}

TEST_F(CudaDeviceTest, IsLostAfterAStickyError) {
  FakeScript script;
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  Open(script);
  const Report broken = Run("selu", 100);
  EXPECT_EQ(broken.outcome.code(), HOTPLATE_DEVICE_LOST);
  const std::string why(broken.outcome.message());
  EXPECT_THAT(why, HasSubstr("gpu0 is lost: kernel selu failed"));
  EXPECT_THAT(lines_, ElementsAre(why));
  EXPECT_EQ(Run("vector_add", 100).outcome.message(), why);
  const auto sum = Bound("vector_add", {{"a", {DType::kFloat32, {4}}}, {"b", {DType::kFloat32, {4}}}});
  ASSERT_TRUE(sum.ok()) << sum.status();
  const absl::Status plan = device().Plan(*sum).status();
  EXPECT_EQ(plan.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(plan.message()), why);
  const absl::Status lane = device().OpenLane().status();
  EXPECT_THAT(std::string(lane.message()), HasSubstr(why));
  EXPECT_EQ(device().FreeBytes(), 0u);
}

TEST_F(CudaDeviceTest, AnotherSpecOfAKernelIsNotForIt) {
  Open();
  const KernelSpec made = KernelSpecBuilder("vector_add", "another one")
                              .Input("a", "float32", "n")
                              .Output("c", "float32", "n")
                              .Build()
                              .value();
  const auto call = made.Bind({}, {{"a", {DType::kFloat32, {4}}}}, HOTPLATE_PRECISION_DEFAULT);
  ASSERT_TRUE(call.ok()) << call.status();
  const absl::Status plan = device().Plan(*call).status();
  EXPECT_EQ(plan.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(plan.message()), HasSubstr("gpu0 has another spec of kernel \"vector_add\""));
}

TEST_F(CudaDeviceTest, ComesBackWithANewContext) {
  FakeScript script;
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  script.heals = true;
  Open(script);
  ASSERT_EQ(Run("selu", 100).outcome.code(), HOTPLATE_DEVICE_LOST);
  lane_.reset();
  const absl::Status reopened = device().Reopen();
  ASSERT_TRUE(reopened.ok()) << reopened;
  auto lane = device().OpenLane();
  ASSERT_TRUE(lane.ok()) << lane.status();
  lane_ = *std::move(lane);
  EXPECT_TRUE(Run("vector_add", 1000).outcome.ok());
  EXPECT_EQ(out_, std::vector<float>(1000, 3));
  EXPECT_EQ(device().FreeBytes(), std::uint64_t{768} << 20);
  EXPECT_EQ(device().Sample().pool_used_bytes, 0u);
}

// As with the real driver: a sticky error is the process's, and stays.
TEST_F(CudaDeviceTest, SaysThatABrokenContextNeedsAnotherProcess) {
  FakeScript script;
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  Open(script);
  ASSERT_EQ(Run("selu", 100).outcome.code(), HOTPLATE_DEVICE_LOST);
  lane_.reset();
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = device().Reopen();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("illegal memory access"), HasSubstr("in this process"),
                                                     HasSubstr("restart hotplated")));
  }
  // Closed, and still asked by the daemon's threads.
  const auto sum = Bound("vector_add", {{"a", {DType::kFloat32, {4}}}, {"b", {DType::kFloat32, {4}}}});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(device().Plan(*sum).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(device().OpenLane().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(device().FreeBytes(), 0u);
  EXPECT_FALSE(device().Upload(7, 4, 0, std::as_bytes(std::span(a_).first(1))));
  EXPECT_EQ(device().Fetch(7).code(), HOTPLATE_DEVICE_LOST);
  device().Forget(7);
  EXPECT_EQ(device().Sample().pool_used_bytes, std::nullopt);
  EXPECT_EQ(fake_.Counts(), FakeCounts{}) << "what CUDA takes back was given back";
}

TEST_F(CudaDeviceTest, IsTriedAgainWhereAnotherProcessHasTheDevice) {
  FakeScript script;
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  script.heals = true;
  Open(script);
  ASSERT_EQ(Run("selu", 100).outcome.code(), HOTPLATE_DEVICE_LOST);
  lane_.reset();
  script.taken = true;
  fake_.Change(script);
  const absl::Status status = device().Reopen();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("busy or unavailable"));
  script.taken = false;
  fake_.Change(script);
  EXPECT_TRUE(device().Reopen().ok());
}

TEST_F(CudaDeviceTest, DevicesAreApart) {
  FakeScript script;
  script.devices = 2;
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  Open(script);
  EXPECT_EQ(Run("selu", 10).outcome.code(), HOTPLATE_DEVICE_LOST);
  auto other = set_.devices[1]->OpenLane();
  ASSERT_TRUE(other.ok()) << other.status();
  lane_ = *std::move(other);
  EXPECT_TRUE(Run("vector_add", 10).outcome.ok());
  EXPECT_EQ(out_, std::vector<float>(10, 3));
}

}  // namespace
}  // namespace hotplate
