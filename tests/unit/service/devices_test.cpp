// What a daemon takes of the machine.
#include "server/devices.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "kernels/devices/cpu/machine.h"

namespace hotplate::server {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Config OnTheCpu(int threads) {
  Config config;
  config.device = DeviceChoice::kCpu;
  config.lanes = 1;
  config.threads = threads;
  return config;
}

DeviceSet Chosen(const Config& config, const Allocation& allocation = {}) {
  HostLimits host;
  auto set = ChooseDevices(config, allocation, BuiltinCatalog(), nullptr, host);
  EXPECT_TRUE(set.ok()) << set.status();
  return set.ok() ? *std::move(set) : DeviceSet();
}

#ifndef HOTPLATE_SANITIZED  // which map more addresses than any machine has

// 0: they are. In a process of its own, whose limit it is.
int WhetherAddressesAreALimit() {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{pages * 4096 + 1024 * kMiB, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  const std::uint64_t total = Chosen(OnTheCpu(1)).devices[0]->info().memory_bytes;
  return total > 900 * kMiB && total <= 1024 * kMiB ? 0 : 1;
}

TEST(DevicesTest, ALimitOnAddressesIsOneOnMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(WhetherAddressesAreALimit()), testing::ExitedWithCode(0), "");
}

#endif

TEST(DevicesTest, MoreThreadsThanTheAffinityMaskAllowsAreNotGiven) {
  std::thread pinned([] {  // the mask is this thread's alone
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cpu::AllowedProcessors().front()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const DeviceSet set = Chosen(OnTheCpu(8));
    ASSERT_EQ(set.devices.size(), 1u);
    EXPECT_EQ(set.devices[0]->info().threads_per_lane, 1);
    EXPECT_THAT(set.notes, ElementsAre(AllOf(HasSubstr("8 are asked for"), HasSubstr("1 given"),
                                             HasSubstr("affinity mask has 1 processor"))));
  });
  pinned.join();
}

TEST(DevicesTest, WhatIsAllowedIsGivenWithoutAWord) {
  const int usable = cpu::UsableThreads();
  for (const int threads : {0, usable}) {
    const DeviceSet set = Chosen(OnTheCpu(threads));
    ASSERT_EQ(set.devices.size(), 1u);
    EXPECT_EQ(set.devices[0]->info().threads_per_lane, usable);
    EXPECT_THAT(set.notes, IsEmpty());
  }
}

Allocation Given(std::uint32_t cpus, std::uint64_t mebibytes) {
  Allocation allocation;
  allocation.system = BatchSystem::kSlurm;
  allocation.job_id = "17";
  allocation.cpus = cpus;
  allocation.memory_bytes = mebibytes << 20;
  allocation.memory_source = "SLURM_MEM_PER_NODE";
  return allocation;
}

TEST(DevicesTest, OfASharedNodeOnlyWhatSlurmGave) {
  const int usable = cpu::UsableThreads();
  if (usable < 2) GTEST_SKIP() << "one processor has no part to give";
  for (const int threads : {0, usable + 8}) {
    const DeviceSet set = Chosen(OnTheCpu(threads), Given(1, 100));
    ASSERT_EQ(set.devices.size(), 1u);
    EXPECT_EQ(set.devices[0]->info().threads_per_lane, 1);
    EXPECT_EQ(set.devices[0]->info().memory_bytes, std::uint64_t{100} << 20);
    EXPECT_THAT(set.notes,
                ElementsAre(AllOf(HasSubstr("threads: "), HasSubstr("Slurm gave 1 CPU (SLURM_CPUS_ON_NODE)")),
                            AllOf(HasSubstr("memory: 104.9 MB of "), HasSubstr("SLURM_MEM_PER_NODE"))));
  }
}

TEST(DevicesTest, WhatThisProcessHasCountsAgainstItsShareOfTheMemory) {
  const DeviceSet set = Chosen(OnTheCpu(1), Given(0, 1024));
  ASSERT_EQ(set.devices.size(), 1u);
  const std::uint64_t before = set.devices[0]->FreeBytes();
  EXPECT_LT(before, std::uint64_t{1} << 30);
  const std::vector<char> mine(std::size_t{256} << 20, 1);
  std::uint64_t after = before;
  for (int i = 0; i < 1000 && after + (std::uint64_t{200} << 20) > before; ++i) {  // it looks again now and then
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    after = set.devices[0]->FreeBytes();
  }
  EXPECT_LE(after + (std::uint64_t{200} << 20), before) << mine.back();
}

TEST(DevicesTest, AShareThatIsMoreThanThereIsChangesNothing) {
  const DeviceSet set = Chosen(OnTheCpu(0), Given(100'000, std::uint64_t{1} << 28));
  ASSERT_EQ(set.devices.size(), 1u);
  EXPECT_EQ(set.devices[0]->info().threads_per_lane, cpu::UsableThreads());
  EXPECT_EQ(set.devices[0]->info().memory_bytes, cpu::ReadMemory().total);
  EXPECT_THAT(set.notes, IsEmpty());
}

}  // namespace
}  // namespace hotplate::server
