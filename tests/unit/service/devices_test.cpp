// What a daemon takes of the machine.
#include "server/devices.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <thread>

#include "kernels/cpu/machine.h"

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

DeviceSet Chosen(const Config& config) {
  std::uint64_t host_bytes = 0;
  auto set = ChooseDevices(config, BuiltinCatalog(), nullptr, host_bytes);
  EXPECT_TRUE(set.ok()) << set.status();
  return set.ok() ? *std::move(set) : DeviceSet();
}

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

}  // namespace
}  // namespace hotplate::server
