// The scheduler alone: entries with needs, seats without lanes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "server/core/schedule/scheduler.h"
#include "tests/unit/core/fakes.h"

namespace hotplate::core::testing {

inline constexpr std::uint64_t kSize = 1 << 20;

struct Entry : QueueEntry {
  Entry(std::uint64_t number, std::vector<DeviceNeed> its_needs, SharedSpec its_kernel)
      : own_needs(std::move(its_needs)) {
    sequence = number;
    share = 1;
    kernel = std::move(its_kernel);
    needs = own_needs;
    for (const DeviceNeed& need : own_needs) devices |= std::uint64_t{1} << need.device;
  }
  std::vector<DeviceNeed> own_needs;
};

class SchedulerTest : public ::testing::Test {
 protected:
  explicit SchedulerTest(std::size_t capacity = 4)
      : scheduler_({.queue_capacity = capacity}, clock_,
                   {{.id = "a", .any_thread = true, .room = {.total_bytes = 10 * kSize, .free_bytes = 10 * kSize}},
                    {.id = "b", .room = {.total_bytes = 10 * kSize, .free_bytes = 10 * kSize}}}) {}

  Entry MakeEntry(unsigned device = 0, std::uint64_t bytes = 2 * kSize) {
    return {++number_, {{.device = device, .peak_bytes = bytes, .extra_bytes = bytes}}, kernel_};
  }
  void Queue(Entry& entry) {
    ASSERT_TRUE(scheduler_.Admit(entry).ok());
    EXPECT_EQ(scheduler_.Push(entry, false).entry, nullptr);
  }

  FakeClock clock_;
  const SharedSpec kernel_ = FakeCatalog().specs().front();
  Scheduler scheduler_;
  std::uint64_t number_ = 0;
};

}  // namespace hotplate::core::testing
