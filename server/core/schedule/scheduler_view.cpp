// What the scheduler tells of itself; nothing here changes it.
#include <algorithm>
#include <set>
#include <utility>

#include "server/core/schedule/scheduler.h"

namespace hotplate::core {

nanoseconds Scheduler::BusyTime(const Seat& seat, SteadyTime now) {
  const DeviceState& device = *seat.device_;
  const nanoseconds span = now - seat.since_;
  if (!seat.for_worker_) return span;
  const double share = static_cast<double>(seat.current_->workers) / static_cast<double>(device.workers);
  return std::chrono::duration_cast<nanoseconds>(span * (share * static_cast<double>(device.lanes)));
}

nanoseconds Scheduler::BusyUntil(const DeviceState& device, SteadyTime now) const {
  nanoseconds busy = device.busy;
  for (const Seat* const seat : device.seats) {
    if (seat->current_ != nullptr) busy += BusyTime(*seat, now);
  }
  return busy;
}

std::uint64_t Scheduler::all_devices() const {
  MutexLock lock(mutex_);
  return devices_.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << devices_.size()) - 1;
}

std::size_t Scheduler::waiting() const {
  MutexLock lock(mutex_);
  return Waiting();
}

std::uint32_t Scheduler::running() const {
  MutexLock lock(mutex_);
  return running_;
}

std::uint64_t Scheduler::ran_borrowed() const {
  MutexLock lock(mutex_);
  return ran_borrowed_;
}

std::vector<DeviceStatus> Scheduler::devices() const {
  std::vector<DeviceStatus> all;
  MutexLock lock(mutex_);
  const SteadyTime now = clock_.Now();
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    DeviceStatus& one = all.emplace_back();
    one.id = device->id;
    one.running = device->running;
    one.idle_lanes = static_cast<std::uint32_t>(device->idle.size());
    one.idle_workers = static_cast<std::uint32_t>(device->idle_workers.size());
    one.lost = WhyLost(*device);
    one.occupied = device->occupied;
    if (device->running > 0) one.occupied += std::max(now - device->occupied_since, nanoseconds::zero());
    if (device->busy_history.empty() || now <= device->busy_history.front().first) continue;
    const auto& [since, busy_then] = device->busy_history.front();
    const double lanes = static_cast<double>(std::max<std::size_t>(1, device->lanes));
    const double busy = static_cast<double>((BusyUntil(*device, now) - busy_then).count());
    one.busy_fraction = std::clamp(busy / static_cast<double>((now - since).count()) / lanes, 0.0, 1.0);
  }
  return all;
}

std::size_t Scheduler::Ahead(const QueueEntry& entry) const {
  MutexLock lock(mutex_);
  if (entry.place == QueueEntry::Place::kQueued) return queue_.Ahead(entry).all();
  return entry.place == QueueEntry::Place::kAside ? turns_.Ahead(entry) + 1 : 0;
}

Standing::Waiting Scheduler::WaitingAs(const QueueEntry& entry, const DescribeEntry& describe) {
  Standing::Waiting waiting;
  waiting.who = describe(entry);
  waiting.places = std::max<std::uint32_t>(1, entry.workers);
  waiting.needs.assign(entry.needs.begin(), entry.needs.end());
  waiting.kept_bytes = entry.kept_bytes;
  waiting.kind = entry.kind;
  return waiting;
}

std::vector<Standing::Device> Scheduler::DevicesFor(bool for_worker) const {
  std::vector<Standing::Device> all;
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    Standing::Device& one = all.emplace_back();
    one.id = device->id;
    one.host_memory = device->host_memory;
    one.lost = !device->lost.empty();
    one.room = device->room;
    one.places = for_worker ? device->workers : static_cast<std::uint32_t>(device->lanes);
    const std::uint32_t taken = for_worker ? device->workers_taken : device->running - device->running_workers;
    one.free_places = one.places - std::min(one.places, taken);
  }
  return all;
}

Standing Scheduler::StandingOf(const QueueEntry& entry, std::size_t limit, const DescribeEntry& describe) const {
  Standing standing;
  MutexLock lock(mutex_);
  const SteadyTime now = clock_.Now();
  standing.place = entry.place;
  if (entry.place == QueueEntry::Place::kOut) return standing;  // somebody else's
  standing.own = WaitingAs(entry, describe);
  standing.for_worker = entry.for_worker();
  standing.devices = DevicesFor(entry.for_worker());
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    if ((entry.devices >> device->index & 1) == 0) continue;
    for (const Seat* const seat : device->seats) {
      if (seat->current_ == nullptr || seat->current_ == &entry) continue;
      const QueueEntry& other = *seat->current_;
      standing.running.push_back({describe(other), device->index, other.for_worker() == entry.for_worker(),
                                  std::max<std::uint32_t>(1, other.workers),
                                  OccupantOf(other, device->index, device->host_memory), other.kind,
                                  std::max(now - seat->since_, nanoseconds::zero())});
    }
  }
  if (entry.place == QueueEntry::Place::kAside) standing.ahead_in_turn = turns_.Ahead(entry) + 1;
  if (entry.place != QueueEntry::Place::kQueued) return standing;
  standing.ahead = queue_.Ahead(entry);
  const std::vector<const QueueEntry*> first = queue_.FirstAhead(entry, limit);
  for (const QueueEntry* const one : first) standing.first_ahead.push_back(WaitingAs(*one, describe));
  standing.all_listed = first.size() < limit || standing.ahead.all() <= limit;
  if (!standing.all_listed) {
    queue_.KindsAhead(entry,
                      [&](RunTimes::Kind kind, double number) { standing.kinds_ahead.emplace_back(kind, number); });
  }
  if (!standing.for_worker) AddMostOfKinds(standing);
  return standing;
}

void Scheduler::AddMostOfKinds(Standing& standing) const {
  std::set<RunTimes::Kind> kinds = {standing.own.kind};
  for (const Standing::Waiting& one : standing.first_ahead) kinds.insert(one.kind);
  for (const auto& [kind, number] : standing.kinds_ahead) kinds.insert(kind);
  for (const DeviceNeed& need : standing.own.needs) {
    Standing::Device& device = standing.devices[need.device];
    for (const RunTimes::Kind kind : kinds) {
      const std::uint32_t most = devices_[need.device]->side_by_side.MostOf(kind, device.places);
      if (most < device.places) device.most_of_kind.emplace_back(kind, most);
    }
  }
}

void Scheduler::ForEachRunning(absl::FunctionRef<void(QueueEntry&, SteadyTime since)> visit) const {
  MutexLock lock(mutex_);
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    for (const Seat* const seat : device->seats) {
      if (seat->current_ != nullptr) visit(*seat->current_, seat->since_);
    }
  }
}

std::uint64_t Scheduler::HostBytesWanted() const {
  std::uint64_t least = 0;
  MutexLock lock(mutex_);
  queue_.ForEach([&](const QueueEntry& entry) {
    mutex_.AssertHeld();
    for (const std::unique_ptr<DeviceState>& device : devices_) {
      // Functions that run have no memory of their own here to give back.
      if (HoldsFor(*device, /*for_worker=*/false) || !device->host_memory) continue;
      const DeviceNeed* const need = entry.NeedOf(device->index);
      if (need == nullptr || device->room.Fits(need->extra_bytes)) continue;
      const std::uint64_t wanted = need->extra_bytes - device->room.left();
      least = least == 0 ? wanted : std::min(least, wanted);
    }
  });
  return least;
}

std::vector<Outlook> Scheduler::OutlookFor(absl::Span<const DeviceNeed> needs, int priority, std::uint64_t abandoned,
                                           const DescribeEntry& describe) const {
  std::vector<Outlook> all;
  std::vector<DeviceLine> lines(needs.size());  // who is before the entry on each device
  std::uint64_t full = 0;                       // the devices that it has to wait for
  {
    // The queue may be long, so it is copied once for all devices, and thought about without the lock.
    MutexLock lock(mutex_);
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const DeviceState& device = *devices_[needs[i].device];
      all.push_back(OutlookNow(device.room, needs[i], device.host_memory ? abandoned : 0));
      all.back().device = device.id;
      all.back().host_memory = device.host_memory;
      if (all.back().when != Outlook::When::kLater) continue;
      full |= std::uint64_t{1} << device.index;
      lines[i].room = device.room;
      for (const Seat* const seat : device.seats) {
        if (seat->current_ == nullptr) continue;
        lines[i].running.push_back({describe(*seat->current_),
                                    OccupantOf(*seat->current_, device.index, device.host_memory),
                                    seat->since_,
                                    {}});
      }
    }
    if (full != 0) {
      queue_.ForEach([&](const QueueEntry& entry) {
        mutex_.AssertHeld();
        const std::uint64_t here = entry.priority >= priority ? entry.devices & full : 0;
        for (std::size_t i = 0; here != 0 && i < needs.size(); ++i) {
          const DeviceState& device = *devices_[needs[i].device];
          if ((here >> device.index & 1) == 0) continue;
          lines[i].waiting.push_back({describe(entry),
                                      OccupantOf(entry, device.index, device.host_memory),
                                      {},
                                      {entry.priority, entry.sequence}});
        }
      });
    }
  }
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (all[i].when == Outlook::When::kLater) LookAhead(needs[i].extra_bytes, std::move(lines[i]), all[i]);
  }
  return all;
}

}  // namespace hotplate::core
