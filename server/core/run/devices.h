// The devices of the daemon: how they are now, and how they were while a kernel ran.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "kernels/devices/device.h"
#include "server/core/arrays/arrays.h"
#include "server/core/run/device_history.h"
#include "server/core/run/outside_work.h"
#include "server/core/run/task_runner.h"
#include "server/core/schedule/scheduler.h"
#include "server/core/types.h"

namespace hotplate::core {

// So many bits has a set of devices (QueueEntry::devices).
inline constexpr std::size_t kMostDevices = 64;

// FAILED_PRECONDITION, with the number and the limit, if one daemon cannot serve so many.
absl::Status CheckNumber(const DeviceSet& set);

// Thread-safe.
class Devices {
 public:
  // A set that passes CheckNumber, with unique ids. `arrays` are copied to those that have memory of their own, until
  // Close. `workers`: EngineOptions::workers.
  Devices(DeviceSet set, ArrayStore& arrays, const Clock& clock, std::uint32_t workers);
  ~Devices() { Close(); }

  const DeviceSet& set() const { return set_; }
  std::size_t count() const { return set_.devices.size(); }
  Device& operator[](std::size_t index) const { return *set_.devices[index]; }
  // Places for workers that it has beside its lanes.
  std::uint32_t WorkersOf(std::size_t index) const { return WorkersOn(set_.devices[index]->info(), workers_); }
  std::size_t LaneCount() const;  // of all of them
  std::vector<ScheduledDevice> ForScheduler() const;

  std::vector<std::uint64_t> FreeBytes() const;
  // Asks the device, which may take milliseconds, and remembers the answer for receipts.
  DeviceMetrics Sample(std::size_t index);
  // How it was while the kernel of a task ran, which was from `start` to `end`.
  DeviceConditions ConditionsOf(std::size_t index, const RunResult& result, SteadyTime start, SteadyTime end);
  // Buffers may outlive the devices; from here on nobody is told of them.
  void Close();

 private:
  const DeviceSet set_;
  const Clock& clock_;
  const std::uint32_t workers_;
  const std::shared_ptr<DeviceCopies> copies_;  // null if there can be none
  DeviceHistory history_;
};

}  // namespace hotplate::core
