// The loader against fake plug-ins and a fake driver: what it uses, what it refuses, and the sentence that says why.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "kernels/devices/cuda/executor/driver.h"
#include "kernels/devices/cuda/plugin/plugin_abi.h"
#include "kernels/devices/device.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cuda/fakes.h"

namespace hotplate {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LoaderTest : public ::testing::Test {
 protected:
  LoaderTest() {
    options_.plugin_folder = folder_.path();
    options_.driver_library = HOTPLATE_FAKES "/driver.so";
    setenv("HOTPLATE_NVML_LIBRARY", HOTPLATE_FAKES "/nvml.so", 1);
    unsetenv("HOTPLATE_FAKE_NVML");
    unsetenv("CUDA_VISIBLE_DEVICES");
    fake_.Reset({});
    options_.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
  }

  void Put(const std::string& fake, const std::string& name = "libhotplate_cuda13.so") {
    fs::copy_file(fs::path(HOTPLATE_FAKES) / (fake + ".so"), folder_.File(name));
  }
  DeviceSet Open() { return OpenCudaDevices(options_, BuiltinCatalog()); }

  // The only note of a set without devices.
  std::string WhyNone() {
    const DeviceSet set = Open();
    EXPECT_THAT(set.devices, IsEmpty());
    EXPECT_THAT(set.notes, SizeIs(1));
    return set.notes.empty() ? "" : set.notes.front();
  }
  std::unique_ptr<Device> OnlyDevice() {
    DeviceSet set = Open();
    EXPECT_THAT(set.devices, SizeIs(1));
    return set.devices.empty() ? nullptr : std::move(set.devices.front());
  }

  FakeCuda& fake_ = FakeCudaOf(dlopen(HOTPLATE_FAKES "/driver.so", RTLD_NOW));
  TemporaryFolder folder_;
  CudaOptions options_;
  std::mutex mutex_;
  std::vector<std::string> lines_;  // guarded by mutex_
};

BoundCall Bound(const std::string& kernel, const std::map<std::string, ParamValue>& params,
                const std::map<std::string, Signature>& inputs) {
  const absl::StatusOr<SharedSpec> spec = BuiltinCatalog().Find(kernel);
  EXPECT_TRUE(spec.ok()) << spec.status();
  const absl::StatusOr<BoundCall> call = (*spec)->Bind(params, inputs, HOTPLATE_PRECISION_DEFAULT);
  EXPECT_TRUE(call.ok()) << call.status();
  return *call;
}

TEST_F(LoaderTest, SaysThatTheDriverIsMissing) {
  options_.driver_library = "libhotplate-no-such-driver.so.1";
  Put("host_device");
  EXPECT_THAT(WhyNone(),
              AllOf(HasSubstr("driver"), HasSubstr("libhotplate-no-such-driver.so.1"), HasSubstr("No such file")));
}

TEST_F(LoaderTest, TakesTheDriverFromTheEnvironment) {
  options_.driver_library.clear();
  setenv("HOTPLATE_CUDA_DRIVER_LIBRARY", "/nowhere/libfrom-environment.so", 1);
  const std::string note = WhyNone();
  unsetenv("HOTPLATE_CUDA_DRIVER_LIBRARY");
  EXPECT_THAT(note, HasSubstr("/nowhere/libfrom-environment.so"));
}

TEST_F(LoaderTest, SaysThatThereIsNoPlugin) {
  folder_.Write("libhotplate_cudaX.so", "not a name of ours");
  folder_.Write("libhotplate_cuda.so", "neither");
  EXPECT_THAT(WhyNone(), AllOf(HasSubstr("no plug-in"), HasSubstr(folder_.path())));
}

TEST_F(LoaderTest, SaysThatTheFolderIsNotThere) {
  options_.plugin_folder = "/nowhere/at/all";
  EXPECT_THAT(WhyNone(), HasSubstr("/nowhere/at/all"));
}

TEST_F(LoaderTest, RefusesACorruptFile) {
  folder_.Write("libhotplate_cuda13.so", std::string(4096, 'x'));
  EXPECT_THAT(WhyNone(), AllOf(HasSubstr("libhotplate_cuda13.so is not used"), HasSubstr("invalid ELF header")));
}

TEST_F(LoaderTest, RefusesATruncatedFile) {
  Put("host_device");
  fs::resize_file(folder_.File("libhotplate_cuda13.so"), 100);
  EXPECT_THAT(WhyNone(), HasSubstr("libhotplate_cuda13.so is not used"));
}

TEST_F(LoaderTest, RefusesAFileWithoutTheEntryPoint) {
  Put("no_symbol");
  EXPECT_THAT(WhyNone(), HasSubstr("libhotplate_cuda13.so is not used: it has no symbol hotplate_cuda_plugin"));
}

TEST_F(LoaderTest, RefusesAnotherVersionOfTheTable) {
  Put("wrong_version");
  EXPECT_THAT(WhyNone(), AllOf(HasSubstr("version 99"),
                               HasSubstr(absl::StrCat("this program version ", HOTPLATE_CUDA_ABI_VERSION))));
}

TEST_F(LoaderTest, RefusesATableOfAnotherSize) {
  Put("wrong_table");
  EXPECT_THAT(WhyNone(), HasSubstr("its table has 8 bytes"));
}

TEST_F(LoaderTest, RefusesAnotherStruct) {
  Put("wrong_struct");
  EXPECT_THAT(WhyNone(), HasSubstr("its call struct has 1 bytes"));
}

TEST_F(LoaderTest, RefusesATableWithAnEmptyPlace) {
  Put("empty_place");
  EXPECT_THAT(WhyNone(), HasSubstr("empty places"));
}

TEST_F(LoaderTest, NotesADriverThatIsTooOldForAPlugin) {
  FakeScript script;
  script.version = 12040;
  fake_.Reset(script);
  Put("no_symbol", "libhotplate_cuda13.so");
  EXPECT_EQ(WhyNone(),
            "libhotplate_cuda13.so is not used: the driver supports CUDA 12.4, and this plug-in needs 13.0 or later");
  Put("host_device", "libhotplate_cuda12.so");
  EXPECT_THAT(Open().devices, SizeIs(1)) << "it is recent enough for the older one";
}

TEST_F(LoaderTest, NotesADriverThatLacksAFunction) {
  options_.driver_library = HOTPLATE_FAKES "/ancient_driver.so";
  EXPECT_THAT(WhyNone(), AllOf(HasSubstr("ancient_driver.so"), HasSubstr("no function cuMemPoolTrimTo"),
                               HasSubstr("driver for CUDA 12.0 or later")));
}

TEST_F(LoaderTest, NotesADriverThatDoesNotStart) {
  const std::map<int, std::string> advice = {{kDriverStubLibrary, "stub"},
                                             {kDriverSystemNotReady, "nvidia-fabricmanager"},
                                             {kDriverSystemMismatch, "kernel module"},
                                             {kDriverCompatNotSupported, "compatibility package"},
                                             {kDriverUnknown, "nvidia-smi"}};
  Put("host_device");
  for (const auto& [error, hint] : advice) {
    FakeScript script;
    script.init_result = error;
    fake_.Reset(script);
    EXPECT_THAT(WhyNone(), AllOf(HasSubstr("starting the driver"), HasSubstr(hint)));
  }
}

// Without a device no plug-in is opened: the one here could not be.
TEST_F(LoaderTest, NotesADriverWithoutDevices) {
  FakeScript script;
  script.devices = 0;
  fake_.Reset(script);
  Put("no_symbol");
  EXPECT_EQ(WhyNone(), "no CUDA devices: the driver (for CUDA 13.0) has none for this process");
}

TEST_F(LoaderTest, NamesWhatHidesTheDevices) {
  Put("host_device");
  const std::map<std::string, std::string> reasons = {
      {"", "set and empty"}, {"NoDevFiles", "hides every GPU"}, {"nonsense", "\"nonsense\""}, {"7", "\"7\""}};
  for (const auto& [value, reason] : reasons) {
    setenv("CUDA_VISIBLE_DEVICES", value.c_str(), 1);
    EXPECT_THAT(WhyNone(), AllOf(HasSubstr("CUDA_VISIBLE_DEVICES"), HasSubstr(reason))) << value;
  }
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(LoaderTest, OpensTheDevicesThatAreAskedFor) {
  FakeScript script;
  script.devices = 4;
  fake_.Reset(script);
  Put("host_kernels");
  options_.indices = {2, 7, 0};
  const DeviceSet set = Open();
  ASSERT_THAT(set.devices, SizeIs(2));
  EXPECT_EQ(set.devices[0]->info().id, "gpu2");
  EXPECT_EQ(set.devices[0]->info().uuid, "GPU-00000000-0000-0000-0000-000000000012");
  EXPECT_EQ(set.devices[1]->info().id, "gpu0");
  EXPECT_THAT(set.notes, Contains("there is no gpu7: the driver gives gpu0 to gpu3"));
  EXPECT_EQ(fake_.Counts().contexts, 2) << "a context takes hundreds of megabytes of a device";
}

TEST_F(LoaderTest, SaysThatNoneOfTheDevicesIsThere) {
  Put("no_symbol");
  options_.indices = {7};
  EXPECT_EQ(WhyNone(), "there is no gpu7: the driver gives gpu0 alone");
}

TEST_F(LoaderTest, SaysWhatItUsed) {
  Put("host_device");
  EXPECT_THAT(Open().sources, ElementsAre(AllOf(HasSubstr(folder_.path() + "/libhotplate_cuda13.so"),
                                                HasSubstr("driver for CUDA 13.0"))));
}

TEST_F(LoaderTest, TriesTheNewestFirstAndFallsBack) {
  FakeScript script;
  script.version = 113000;
  fake_.Reset(script);
  Put("wrong_version", "libhotplate_cuda113.so");
  Put("host_device", "libhotplate_cuda12.so");
  Put("no_symbol", "libhotplate_cuda13.so");
  const DeviceSet set = Open();
  ASSERT_THAT(set.devices, SizeIs(1));
  EXPECT_THAT(set.notes, ElementsAre(HasSubstr("libhotplate_cuda113.so"), HasSubstr("libhotplate_cuda13.so")));
}

TEST_F(LoaderTest, StopsAtTheFirstThatWorks) {
  Put("host_device", "libhotplate_cuda13.so");
  Put("wrong_version", "libhotplate_cuda12.so");
  const DeviceSet set = Open();
  EXPECT_THAT(set.devices, SizeIs(1));
  EXPECT_THAT(set.notes, IsEmpty());
}

TEST_F(LoaderTest, KeepsTheDevicesThatWork) {
  FakeScript script;
  script.devices = 2;
  fake_.Reset(script);
  Put("host_device");
  const DeviceSet set = Open();
  ASSERT_THAT(set.devices, SizeIs(1));
  EXPECT_EQ(set.devices[0]->info().id, "gpu0");
  EXPECT_THAT(set.notes, ElementsAre(AllOf(HasSubstr("gpu1 is not used"), HasSubstr("EXCLUSIVE_PROCESS"))));
}

TEST_F(LoaderTest, DescribesTheDevice) {
  Put("host_device");
  options_.lanes = 3;
  const std::unique_ptr<Device> device = OnlyDevice();
  ASSERT_NE(device, nullptr);
  const DeviceInfo& info = device->info();
  EXPECT_EQ(info.id, "gpu0");
  EXPECT_EQ(info.backend, "cuda");
  EXPECT_EQ(info.name, std::string(256, 'N'));
  EXPECT_EQ(info.uuid, "GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(info.compute_capability, "9.0");
  EXPECT_EQ(info.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(info.lanes, 3);
  EXPECT_FALSE(info.host_memory);
  EXPECT_EQ(device->FreeBytes(), 12345u);
  EXPECT_EQ(device->Sample().memory_used_bytes, 40u);
  EXPECT_EQ(device->Sample().utilisation, std::nullopt);
}

TEST_F(LoaderTest, TakesFromNvmlWhatCudaDoesNotTell) {
  Put("host_device");
  setenv("HOTPLATE_FAKE_NVML", folder_.File("nvml").c_str(), 1);
  folder_.Write("nvml",
                "device GPU-00000000-0000-0000-0000-000000000001 00000000:65:00.0\n"
                "compute_mode 3\npower 300000\nmemory_total 7\nmemory_used 7\n"
                "sm_clock 1980 1980 !15\n");
  const std::unique_ptr<Device> device = OnlyDevice();
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->info().mode, "EXCLUSIVE_PROCESS");
  EXPECT_EQ(device->info().driver_version, "580.65.06");
  EXPECT_EQ(device->info().runtime_version, "13.0");
  const DeviceMetrics metrics = device->Sample();
  EXPECT_EQ(metrics.power_watts, 300);
  EXPECT_EQ(metrics.memory_used_bytes, 40u) << "CUDA's, by which jobs are admitted";
  EXPECT_EQ(device->Sample().sm_clock_mhz, 1980u);
  const DeviceMetrics gone = device->Sample();
  EXPECT_THAT(gone.lost, HasSubstr("GPU is lost"));
  EXPECT_EQ(gone.memory_used_bytes, std::nullopt);
  unsetenv("HOTPLATE_FAKE_NVML");
}

TEST_F(LoaderTest, SaysWhatMigHides) {
  Put("host_device");
  setenv("HOTPLATE_FAKE_NVML", folder_.File("nvml").c_str(), 1);
  const std::string instances =
      "device GPU-00000000-0000-0000-0000-00000000000a 00000000:65:00.0\nmig_mode 1\n"
      "instance GPU-00000000-0000-0000-0000-000000000001\ninstance MIG-second\n";
  folder_.Write("nvml", instances);
  EXPECT_THAT(Open().notes, ElementsAre(HasSubstr("MIG-second is not used: CUDA shows a process one MIG instance")));
  setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  EXPECT_THAT(Open().notes, IsEmpty()) << "what the variable does not name is hidden on purpose";
  unsetenv("CUDA_VISIBLE_DEVICES");
  options_.indices = {0};
  EXPECT_THAT(Open().notes, IsEmpty());
  options_.indices = {};

  folder_.Write("nvml", "device GPU-00000000-0000-0000-0000-00000000000a 00000000:65:00.0\nmig_mode 1\n");
  FakeScript script;
  script.init_result = kDriverNoDevice;
  fake_.Reset(script);
  const DeviceSet none = Open();
  EXPECT_THAT(none.devices, IsEmpty());
  EXPECT_THAT(none.notes, Contains(HasSubstr("00000000000a is in MIG mode and has no instances")));
  unsetenv("HOTPLATE_FAKE_NVML");
}

// Of three GPUs that are open the job has one: the others' memory and time are somebody else's.
TEST_F(LoaderTest, WhatSlurmDidNotGiveIsClosedAgain) {
  FakeScript script;
  script.devices = 3;
  fake_.Reset(script);
  Put("host_kernels");
  setenv("HOTPLATE_FAKE_NVML", folder_.File("nvml").c_str(), 1);
  std::string gpus;
  for (const char* number : {"10", "11", "12"})
    gpus += std::string("device GPU-00000000-0000-0000-0000-0000000000") + number + " 00000000:" + number + ":00.0\n";
  folder_.Write("nvml", gpus);
  options_.given = {1};
  {
    const DeviceSet set = Open();
    ASSERT_THAT(set.devices, SizeIs(1));
    EXPECT_EQ(set.devices[0]->info().id, "gpu1");
    for (const char* wrong : {"gpu0 is", "gpu2 is"})
      EXPECT_THAT(set.notes, Contains(AllOf(HasSubstr(wrong), HasSubstr("It is left out"))));
    EXPECT_EQ(fake_.Counts().contexts, 1);
  }
  options_.indices = {2};
  const DeviceSet chosen = Open();
  EXPECT_THAT(chosen.devices, SizeIs(1));
  EXPECT_THAT(chosen.notes, Contains(AllOf(HasSubstr("Slurm gave GPU-00000000-0000-0000-0000-000000000011"),
                                           HasSubstr("It is used"))));
  options_.indices = {};
  folder_.Write("nvml", gpus + "hidden 1\n");
  EXPECT_THAT(Open().devices, SizeIs(3)) << "Slurm's numbers are not those of what is seen";
  unsetenv("HOTPLATE_FAKE_NVML");
}

TEST_F(LoaderTest, SaysThatThereIsNoNvml) {
  Put("host_device");
  setenv("HOTPLATE_NVML_LIBRARY", "/nowhere/libnvidia-ml.so.1", 1);
  const DeviceSet set = Open();
  ASSERT_THAT(set.devices, SizeIs(1));
  EXPECT_EQ(set.devices[0]->info().mode, "");
  EXPECT_EQ(set.devices[0]->Sample().power_watts, std::nullopt);
  EXPECT_THAT(set.notes, Contains(HasSubstr("/nowhere/libnvidia-ml.so.1 cannot be opened")));
}

TEST_F(LoaderTest, RefusesKernelsOfAnotherSpec) {
  Put("wrong_hash");
  DeviceSet set = Open();
  ASSERT_THAT(set.devices, SizeIs(1));
  EXPECT_THAT(set.notes, ElementsAre(HasSubstr("has no kernel mandelbrot"),
                                     AllOf(HasSubstr("kernel selu"), HasSubstr("0123456789abcdef"))));
  Device& device = *set.devices.front();
  EXPECT_EQ(device.Plan(Bound("selu", {}, {{"x", {DType::kFloat32, {4}}}})).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const Signature four{DType::kFloat32, {4}};
  EXPECT_TRUE(device.Plan(Bound("vector_add", {}, {{"a", four}, {"b", four}})).ok());

  auto lane = device.OpenLane();
  ASSERT_TRUE(lane.ok()) << lane.status();
  TaskControl control;
  Task task;
  task.kernel = "mandelbrot";
  const Report report = (*lane)->Run(task, control);
  EXPECT_EQ(report.outcome.code(), HOTPLATE_FAILED);
  EXPECT_THAT(std::string(report.outcome.message()), HasSubstr("no kernel mandelbrot"));
}

TEST_F(LoaderTest, PlansWithTheBoundCall) {
  Put("host_device");
  const std::unique_ptr<Device> device = OnlyDevice();
  ASSERT_NE(device, nullptr);
  // The fake adds up integers, truths, lengths of choices and bytes.
  const auto integrate = device->Plan(Bound("integrate2d", {{"n", std::int64_t{1000}}, {"variant", "naive"}}, {}));
  ASSERT_TRUE(integrate.ok()) << integrate.status();
  EXPECT_EQ(integrate->scratch_bytes, 1000u + 5 + 8 + 8);
  const auto matmul = device->Plan(
      Bound("matmul", {{"transpose_b", true}}, {{"a", {DType::kFloat64, {2, 3}}}, {"b", {DType::kFloat64, {5, 3}}}}));
  ASSERT_TRUE(matmul.ok()) << matmul.status();
  EXPECT_EQ(matmul->scratch_bytes, 1u + 6 * 8 + 15 * 8 + 10 * 8);
  const auto selu = device->Plan(Bound("selu", {}, {{"x", {DType::kFloat32, {4}}}}));
  EXPECT_EQ(selu.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(selu.status().message()), HasSubstr("gpu0 cannot run selu: not this one"));
}

class LaneTest : public LoaderTest {
 protected:
  LaneTest() {
    Put("host_device");
    device_ = OnlyDevice();
    auto lane = device_->OpenLane();
    EXPECT_TRUE(lane.ok()) << lane.status();
    lane_ = *std::move(lane);
    for (hotplate_array* array : {&inputs_[0], &inputs_[1], &output_}) {
      array->dtype = static_cast<int>(DType::kFloat32);
      array->rank = 1;
      array->shape[0] = 3;
      array->bytes = sizeof a_;
    }
    inputs_[0].name = "a";
    inputs_[0].data = a_;
    inputs_[1].name = "b";
    inputs_[1].data = b_;
    output_.name = "c";
    output_.data = c_;
    task_.kernel = "vector_add";
    task_.call.inputs = inputs_;
    task_.call.input_count = 2;
    task_.call.outputs = &output_;
    task_.call.output_count = 1;
    task_.scratch_bytes = 24;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Lane> lane_;
  float a_[3] = {1, 2, 3}, b_[3] = {10, 20, 30}, c_[3] = {};
  hotplate_array inputs_[2] = {}, output_ = {};
  Task task_;
  TaskControl control_;
};

TEST_F(LaneTest, RunsATask) {
  const Report report = lane_->Run(task_, control_);
  ASSERT_TRUE(report.outcome.ok()) << report.outcome.message();
  EXPECT_THAT(c_, ElementsAre(11, 22, 33));
  EXPECT_EQ(report.host_to_device_ns, std::nullopt);
  EXPECT_EQ(report.kernel_ns, 1024u);  // the scratch that was planned came along
  EXPECT_EQ(report.device_to_host_ns, 7u);
  EXPECT_EQ(report.compile_ns, std::nullopt);
  EXPECT_EQ(control_.progress(), 1.0);
}

TEST_F(LaneTest, PassesTheCancelFlagOn) {
  control_.RequestCancel();
  EXPECT_EQ(lane_->Run(task_, control_).outcome.code(), HOTPLATE_CANCELLED);
}

TEST_F(LaneTest, TerminatesAMessage) {
  task_.kernel = "matmul";
  const Report report = lane_->Run(task_, control_);
  EXPECT_EQ(report.outcome.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_EQ(report.outcome.message(), std::string(sizeof(hotplate_outcome::message) - 1, 'm'));
}

TEST_F(LaneTest, ReportsALostDevice) {
  task_.kernel = "selu";
  const Report report = lane_->Run(task_, control_);
  EXPECT_EQ(report.outcome.code(), HOTPLATE_DEVICE_LOST);
  EXPECT_THAT(std::string(report.outcome.message()), HasSubstr("kernel selu"));
  EXPECT_THAT(lines_, ElementsAre("gpu0 is lost"));
}

TEST_F(LaneTest, SaysThatALaneCannotBeOpened) {
  const auto second = device_->OpenLane();
  EXPECT_TRUE(second.ok()) << second.status();
  const auto third = device_->OpenLane();
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(third.status().message()), HasSubstr("gpu0 cannot open a lane: pinned host memory"));
}

TEST_F(LaneTest, OutlivesItsDeviceObject) {
  device_.reset();
  EXPECT_TRUE(lane_->Run(task_, control_).outcome.ok());
  EXPECT_THAT(lines_, IsEmpty());
  lane_.reset();
  EXPECT_THAT(lines_, ElementsAre("closed"));
}

}  // namespace
}  // namespace hotplate
