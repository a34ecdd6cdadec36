// Devices that are lost, and those that come back.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/schedule/scheduler.h"

namespace hotplate::core {

std::string Scheduler::WhyLost(const DeviceState& device) {
  return device.still_lost.empty() ? device.lost : absl::StrCat(device.lost, "; ", device.still_lost);
}

std::optional<std::vector<QueueEntry*>> Scheduler::Lose(unsigned index, const std::string& why) {
  std::vector<QueueEntry*> stranded;
  MutexLock lock(mutex_);
  DeviceState& device = *devices_[index];
  if (!device.lost.empty()) return std::nullopt;
  device.lost = why;
  any_lost_.store(true);
  std::uint64_t healthy = 0;
  for (const std::unique_ptr<DeviceState>& one : devices_) {
    if (one->lost.empty()) healthy |= std::uint64_t{1} << one->index;
  }
  const auto look = [&](QueueEntry& entry) {
    if ((entry.devices & healthy) == 0) stranded.push_back(&entry);
  };
  // Those aside first: as others leave the queue, they may come there.
  turns_.ForEach(look);
  for (QueueEntry* const entry : stranded) turns_.Remove(*entry);
  const std::size_t aside = stranded.size();
  queue_.ForEach(look);
  for (std::size_t i = aside; i < stranded.size(); ++i) {
    queue_.Remove(*stranded[i]);
    if (Seat* const called = CallFor(PassOn(stranded[i]->turn))) called->wake_.NotifyOne();
  }
  for (QueueEntry* const entry : stranded) entry->place = QueueEntry::Place::kOut;
  // Its sleeping threads have nothing to wait for.
  while (!device.idle.empty()) CallAndWake(device, /*for_worker=*/false);
  while (!device.idle_workers.empty()) CallAndWake(device, /*for_worker=*/true);
  return stranded;
}

bool Scheduler::StillLost(unsigned index, const std::string& why) {
  MutexLock lock(mutex_);
  return std::exchange(devices_[index]->still_lost, why) != why;
}

void Scheduler::Regain(unsigned index, std::uint64_t free_bytes) {
  MutexLock lock(mutex_);
  DeviceState& device = *devices_[index];
  device.lost.clear();
  device.still_lost.clear();
  device.warm.clear();
  device.side_by_side = {};
  device.room.free_bytes = free_bytes;
  any_lost_.store(std::any_of(devices_.begin(), devices_.end(), [](const auto& one) { return !one->lost.empty(); }));
}

std::vector<std::string> Scheduler::LostDevices() const {
  if (!any_lost_.load()) return {};
  std::vector<std::string> lost;
  MutexLock lock(mutex_);
  for (const std::unique_ptr<DeviceState>& device : devices_) lost.push_back(WhyLost(*device));
  return lost;
}

}  // namespace hotplate::core
