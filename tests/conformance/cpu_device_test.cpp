// The CPU device beside its kernels: what it finds on the machine, what it refuses, how lanes share threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "kernels/array/host_buffer.h"
#include "kernels/array/large_memory.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/machine.h"
#include "kernels/devices/device.h"
#include "tests/conformance/launch.h"

namespace hotplate {
namespace {

using testing::HasSubstr;

// A /proc and /sys of our own.
class MachineTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "machine_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
    Write("/proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    600 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::string root_;
};

TEST_F(MachineTest, WithoutCgroupTheMachineCounts) {
  EXPECT_EQ(cpu::ReadMemory(root_).total, 1000u * 1024);
  EXPECT_EQ(cpu::ReadMemory(root_).available, 600u * 1024);
  EXPECT_FALSE(cpu::ProcessorQuota(root_).has_value());
}

// In a chroot, or a container that has none.
TEST_F(MachineTest, WithoutProcTheSystemIsAsked) {
  std::filesystem::remove_all(root_ + "/proc");
  const cpu::Memory memory = cpu::ReadMemory(root_);
  EXPECT_TRUE(memory.without_proc);
  EXPECT_FALSE(cpu::ReadMemory().without_proc);
  EXPECT_EQ(memory.total, cpu::ReadMemory("/none").total);
  EXPECT_GT(memory.total, std::uint64_t{64} << 20);
  EXPECT_GT(memory.available, 0u);
  EXPECT_LE(memory.available, memory.total);
}

TEST_F(MachineTest, Version2TakesTheTightestOfItsParents) {
  Write("/proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  Write("/sys/fs/cgroup/slurm/job_7/memory.max", "204800\n");
  Write("/sys/fs/cgroup/slurm/job_7/memory.current", "102400\n");
  Write("/sys/fs/cgroup/slurm/job_7/memory.stat", "anon 1\ninactive_file 51200\n");
  Write("/sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
  Write("/sys/fs/cgroup/slurm/job_7/cpu.max", "250000 100000\n");
  Write("/sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu::ReadMemory(root_).total, 204'800u);
  EXPECT_EQ(cpu::ReadMemory(root_).available, 204'800u - 51'200u);
  EXPECT_EQ(cpu::ProcessorQuota(root_), 2.5);
}

// As Slurm's cgroup/v2 makes them: the job and its step have limits, the task none of its own. Beyond memory.high a
// process is not killed, but stands still while the kernel takes memory from it.
TEST_F(MachineTest, Version2OfASlurmJob) {
  const std::string job = "/system.slice/slurmstepd.scope/job_7";
  Write("/proc/self/cgroup", "0::" + job + "/step_batch/user/task_0\n");
  const std::string folder = "/sys/fs/cgroup" + job;
  Write(folder + "/memory.max", "max\n");
  Write(folder + "/memory.high", "max\n");
  Write(folder + "/step_batch/memory.max", "409600\n");
  Write(folder + "/step_batch/memory.high", "307200\n");
  Write(folder + "/step_batch/memory.current", "102400\n");
  Write(folder + "/step_batch/user/task_0/memory.max", "max\n");
  Write(folder + "/step_batch/user/task_0/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu::ReadMemory(root_).total, 307'200u);
  EXPECT_EQ(cpu::ReadMemory(root_).available, 204'800u);
  EXPECT_FALSE(cpu::ProcessorQuota(root_).has_value()) << "cores are given by a cpuset, which affinity tells";
}

TEST_F(MachineTest, Version2InAContainerThatSeesItsOwnFolderAsTheRoot) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.max", "204800\n");
  Write("/sys/fs/cgroup/memory.current", "300000\n");
  Write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(cpu::ReadMemory(root_).total, 204'800u);
  EXPECT_EQ(cpu::ReadMemory(root_).available, 0u);
  EXPECT_EQ(cpu::ProcessorQuota(root_), 0.5);
  EXPECT_EQ(cpu::UsableThreads(root_), 1);
}

TEST_F(MachineTest, Version1AndAContainerWhosePathIsNotThere) {
  Write("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/not/mounted/here\n2:cpuacct,cpu:/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "409600\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu::ReadMemory(root_).total, 409'600u);
  EXPECT_EQ(cpu::ReadMemory(root_).available, 309'600u);
  EXPECT_EQ(cpu::ProcessorQuota(root_), 1.5);
}

// As Slurm's task/cgroup makes them: the job's folder has the limits, what is below it has none of its own.
TEST_F(MachineTest, CgroupVersion1OfASlurmJob) {
  Write("/proc/self/cgroup",
        "9:freezer:/slurm_gpu1/uid_7/job_7/step_batch\n4:memory:/slurm_gpu1/uid_7/job_7/step_batch/task_0\n");
  const std::string job = "/sys/fs/cgroup/memory/slurm_gpu1/uid_7/job_7";
  Write(job + "/memory.limit_in_bytes", "204800\n");
  Write(job + "/memory.usage_in_bytes", "102400\n");
  Write(job + "/step_batch/memory.limit_in_bytes", "9223372036854771712\n");
  Write(job + "/step_batch/task_0/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(cpu::ReadMemory(root_).total, 204'800u);
  EXPECT_EQ(cpu::ReadMemory(root_).available, 102'400u);
}

TEST_F(MachineTest, WhatThisProcessHas) {
  Write("/proc/self/statm", "1000 10 5 1 0 50 0\n");
  EXPECT_EQ(cpu::ResidentBytes(root_), 10u * static_cast<unsigned long>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(cpu::ResidentBytes(root_ + "/none"), 0u);
  EXPECT_GT(cpu::ResidentBytes(), 0u);
}

TEST_F(MachineTest, ALimitBeyondTheMachineIsNone) {
  Write("/proc/self/cgroup", "4:memory:/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu::ReadMemory(root_).total, 1000u * 1024);
  EXPECT_FALSE(cpu::ProcessorQuota(root_).has_value());
}

TEST_F(MachineTest, ProcessorTimeOfTheAllowedOnly) {
  Write(
      "/proc/stat",
      "cpu  100 0 0 0 0 0 0 0 0 0\ncpu0 10 1 5 80 4 0 0 0 0 0\ncpu1 50 0 0 50 0 0 0 0 0 0\ncpu12 7 0 0 3 0 0 0 0 0 0\n"
      "intr 5\n");
  const auto time = cpu::ReadProcessorTime({0, 12}, root_);
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(time->busy, 16u + 7u);
  EXPECT_EQ(time->total, 100u + 10u);
  EXPECT_FALSE(cpu::ReadProcessorTime({5}, root_).has_value());
}

TEST(ThreadBudgetTest, ALaneAloneHasEverythingAndNeverLessThanItsShare) {
  ThreadBudget budget(8, 2);
  EXPECT_EQ(budget.Take(), 8);
  EXPECT_EQ(budget.Take(), 2);
  budget.GiveBack(8);
  EXPECT_EQ(budget.Take(), 6);
  budget.GiveBack(6);
  budget.GiveBack(2);
  EXPECT_EQ(budget.Take(), 8);
}

TEST(CpuDeviceTest, SaysWhatItIs) {
  const std::unique_ptr<Device> device = OpenCpuDevice({.lanes = 2, .threads = 4});
  const DeviceInfo& info = device->info();
  EXPECT_EQ(info.id, "cpu0");
  EXPECT_EQ(info.backend, "cpu");
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.instruction_set.empty());
  ASSERT_TRUE(info.libraries.contains("OpenBLAS"));
  EXPECT_THAT(info.libraries.at("OpenBLAS"), testing::MatchesRegex("[0-9]+[.][0-9.]+.*"));
  EXPECT_EQ(info.runtime_version, "");
  EXPECT_EQ(info.lanes, 2);
  EXPECT_EQ(info.threads_per_lane, 2);
  EXPECT_TRUE(info.host_memory);
  EXPECT_GT(info.memory_bytes, 0u);
  EXPECT_GT(device->FreeBytes(), 0u);
  EXPECT_LE(device->FreeBytes(), info.memory_bytes);
  const DeviceMetrics first = device->Sample();
  EXPECT_FALSE(first.utilisation.has_value()) << "one sample says nothing about a rate";
  EXPECT_GT(first.memory_used_bytes.value_or(0), 0u);
  EXPECT_FALSE(first.power_watts.has_value());
}

TEST(CpuDeviceTest, MemoryIsWhatTheOptionsSay) {
  const std::unique_ptr<Device> device = OpenCpuDevice({.memory_bytes = 4096});
  EXPECT_EQ(device->info().memory_bytes, 4096u);
  EXPECT_LE(device->FreeBytes(), 4096u);
}

#ifndef HOTPLATE_SANITIZED  // there no buffer is of huge pages
// What is kept of freed arrays is resident, but the next array may have it.
TEST(CpuDeviceTest, FreedMemoryThatIsKeptIsFree) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kShare = 2048 * kMiB, kArray = 512 * kMiB;
  if (cpu::ReadMemory().available < 2 * kShare) GTEST_SKIP() << "needs 4 GiB of free memory";
  const auto free_bytes = [] { return OpenCpuDevice({.memory_bytes = kShare})->FreeBytes(); };
  KeepFreedLargeMemory(Keeping::kForAMoment, kArray);
  const std::uint64_t before = free_bytes();
  std::shared_ptr<HostBuffer> array = HostBuffer::Allocate(kArray);
  std::memset(array->data(), 1, kArray);
  EXPECT_LT(free_bytes(), before - kArray / 4 * 3);
  array = nullptr;
  EXPECT_EQ(KeptLargeMemory(), kArray);
  EXPECT_GT(cpu::ResidentBytes(), kArray / 4 * 3);
  EXPECT_GT(free_bytes(), before - kArray / 4);
  GiveBackIdleLargeMemory();
  GiveBackIdleLargeMemory();
  EXPECT_EQ(KeptLargeMemory(), 0u);
  EXPECT_GT(free_bytes(), before - kArray / 4);
  KeepFreedLargeMemory(Keeping::kNot, 0);
}
#endif

TEST(CpuDeviceTest, RefusesAKernelThatItDoesNotHave) {
  const std::unique_ptr<Device> device = OpenCpuDevice({});
  const KernelSpec stranger = KernelSpecBuilder("stranger", "not there")
                                  .Docs("d")
                                  .Output("y", "float32", "")
                                  .CostModel("none", [](const BoundCall&) { return Cost{}; })
                                  .Numerics("n")
                                  .Example("hotplate run stranger")
                                  .Build()
                                  .value();
  const absl::StatusOr<BoundCall> call = stranger.Bind({}, {}, HOTPLATE_PRECISION_DEFAULT);
  ASSERT_TRUE(call.ok()) << call.status();
  const absl::StatusOr<MemoryPlan> plan = device->Plan(*call);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(plan.status().ToString(), HasSubstr("stranger"));
}

TEST(CpuDeviceTest, RefusesAnotherSpecOfAKernel) {
  const std::unique_ptr<Device> device = OpenCpuDevice({});
  const KernelSpec other = KernelSpecBuilder("selu", "another selu")
                               .Version("99")
                               .Docs("d")
                               .Type("T", {DType::kFloat32})
                               .Input("x", "T", "...")
                               .Output("y", "T", "...")
                               .CostModel("none", [](const BoundCall&) { return Cost{}; })
                               .Numerics("n")
                               .Example("hotplate run selu x.npy")
                               .Build()
                               .value();
  const absl::StatusOr<BoundCall> call = other.Bind({}, {{"x", {DType::kFloat32, {3}}}}, HOTPLATE_PRECISION_DEFAULT);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(device->Plan(*call).status().code(), absl::StatusCode::kFailedPrecondition);

  Task task;
  task.kernel = "selu";
  task.spec_hash = "0000000000000000";
  TaskControl control;
  EXPECT_EQ(device->OpenLane().value()->Run(task, control).outcome.code(), HOTPLATE_FAILED);
}

TEST(CpuDeviceTest, RefusesAReducedPrecision) {
  const std::unique_ptr<Device> device = OpenCpuDevice({});
  const KernelSpec& matmul = **BuiltinCatalog().Find("matmul");
  const Signature square{DType::kFloat32, {4, 4}};
  const absl::StatusOr<BoundCall> call = matmul.Bind({}, {{"a", square}, {"b", square}}, HOTPLATE_PRECISION_TF32);
  ASSERT_TRUE(call.ok()) << call.status();
  const absl::StatusOr<MemoryPlan> plan = device->Plan(*call);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(plan.status().ToString(), HasSubstr("tf32"));
}

TEST(MatmulSpecTest, SaysWhatDoesNotFit) {
  const KernelSpec& matmul = **BuiltinCatalog().Find("matmul");
  const auto message = [&](const Shape& a, const Shape& b, const std::map<std::string, ParamValue>& params = {}) {
    return matmul.Bind(params, {{"a", {DType::kFloat32, a}}, {"b", {DType::kFloat32, b}}}, HOTPLATE_PRECISION_DEFAULT)
        .status()
        .ToString();
  };
  EXPECT_THAT(
      message({3000, 3000}, {1000, 2}),
      HasSubstr("inner sizes differ: a is [3000, 3000], b is [1000, 2]; expected a [..., m, k] and b [..., k, n]"));
  EXPECT_THAT(message({3000, 3000}, {1000}), HasSubstr("inner sizes differ: a is [3000, 3000], b is [1000];"));
  EXPECT_THAT(message({}, {1000}),
              HasSubstr("a is a scalar, []; it must be a matrix or a vector; expected a [..., m, k]"));
  EXPECT_THAT(
      message({2, 3, 4}, {3, 4, 5}),
      HasSubstr("batches do not broadcast: a is [2, 3, 4], b is [3, 4, 5]; sizes before the last two, aligned"));
  EXPECT_THAT(message({3, 4}, {3, 4}, {{"transpose_a", true}, {"transpose_b", true}}),
              HasSubstr("expected a [..., k, m] and b [..., n, k]"));
  EXPECT_THAT(message({0x7fffffff, 1}, {1, 0x7fffffff}), HasSubstr("more than the"));
  EXPECT_THAT(message({3, 4}, {4, 5}), HasSubstr("OK"));
}

}  // namespace
}  // namespace hotplate
