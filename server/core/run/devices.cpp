#include "server/core/run/devices.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hotplate::core {

absl::Status CheckNumber(const DeviceSet& set) {
  if (set.devices.size() <= kMostDevices) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      set.devices.size(), " devices are open (", set.devices.front()->info().id, " to ", set.devices.back()->info().id,
      "), and a daemon serves at most ", kMostDevices, "; choose some of them: --device gpu0,gpu1,..."));
}

Devices::Devices(DeviceSet set, ArrayStore& arrays, const Clock& clock, std::uint32_t workers)
    : set_(std::move(set)),
      clock_(clock),
      workers_(workers),
      copies_(DeviceCopies::Of(set_.devices)),
      history_(set_.devices.size()) {
  assert(CheckNumber(set_).ok());
  if (copies_ != nullptr) arrays.Attach(copies_);
}

std::size_t Devices::LaneCount() const {
  std::size_t lanes = 0;
  for (const std::unique_ptr<Device>& device : set_.devices) lanes += static_cast<std::size_t>(device->info().lanes);
  return lanes;
}

std::vector<ScheduledDevice> Devices::ForScheduler() const {
  std::vector<ScheduledDevice> all;
  for (std::size_t i = 0; i < count(); ++i) {
    const Device& device = *set_.devices[i];
    const DeviceInfo& info = device.info();
    all.push_back({.id = info.id,
                   .host_memory = info.host_memory,
                   .any_thread = info.any_thread,
                   .workers = WorkersOf(i),
                   .room = {.total_bytes = info.memory_bytes, .free_bytes = device.FreeBytes()}});
  }
  return all;
}

std::vector<std::uint64_t> Devices::FreeBytes() const {
  std::vector<std::uint64_t> all;
  for (const std::unique_ptr<Device>& device : set_.devices) all.push_back(device->FreeBytes());
  return all;
}

DeviceMetrics Devices::Sample(std::size_t index) { return history_.Read(index, *set_.devices[index], clock_); }

// A task is: copies to the device, the kernel, copies from it; its end is known best.
DeviceConditions Devices::ConditionsOf(std::size_t index, const RunResult& result, SteadyTime start, SteadyTime end) {
  const auto earlier = [start](SteadyTime time, const std::optional<std::uint64_t>& ns) {
    return std::max(start, time - nanoseconds(static_cast<nanoseconds::rep>(ns.value_or(0))));
  };
  const SteadyTime kernel_end = earlier(end, result.report.device_to_host_ns);
  const SteadyTime kernel_start = result.report.kernel_ns ? earlier(kernel_end, result.report.kernel_ns) : kernel_end;
  const bool lost = result.kind == RunResult::Kind::kDeviceLost;
  return history_.Conditions(index, kernel_start, kernel_end, lost ? nullptr : set_.devices[index].get(), clock_);
}

void Devices::Close() {
  if (copies_ != nullptr) copies_->Close();
}

}  // namespace hotplate::core
