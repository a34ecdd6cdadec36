#include "server/core/schedule/scheduler.h"

#include <algorithm>
#include <cassert>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"

namespace hotplate::core {
namespace {

constexpr std::size_t kBusySamples = 10;  // a second

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

unsigned Scheduler::Seat::device() const { return device_->index; }

Scheduler::Scheduler(SchedulerOptions options, const Clock& clock, std::vector<ScheduledDevice> devices)
    : options_(options), clock_(clock), queue_(options.queue_capacity) {
  for (ScheduledDevice& device : devices) {
    auto state = std::make_unique<DeviceState>();
    static_cast<ScheduledDevice&>(*state) = std::move(device);
    state->index = static_cast<unsigned>(devices_.size());
    devices_.push_back(std::move(state));
  }
}

void Scheduler::AddSeat(unsigned device, Seat& seat) {
  MutexLock lock(mutex_);
  seat.device_ = devices_[device].get();
  seat.device_->seats.push_back(&seat);
}

absl::Status Scheduler::Admit(QueueEntry& entry) {
  MutexLock lock(mutex_);
  if (queue_.size() + admitted_ >= queue_.capacity()) {
    return absl::ResourceExhaustedError(absl::StrCat("the queue is full: ", queue_.size(),
                                                     " jobs wait, the limit queue is ", queue_.capacity(),
                                                     "; try again later"));
  }
  std::string lost;
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    if (device->lost.empty() || (entry.devices >> device->index & 1) == 0) continue;
    entry.devices &= ~(std::uint64_t{1} << device->index);
    lost = absl::StrCat("device ", device->id, " is lost: ", WhyLost(*device));
  }
  if (entry.devices == 0) return Refused(absl::StatusCode::kFailedPrecondition, {{"device", lost}});
  ++admitted_;
  entry.place = QueueEntry::Place::kAdmitted;
  return absl::OkStatus();
}

void Scheduler::Withdraw(QueueEntry& entry) { Remove(entry); }

bool Scheduler::Remove(QueueEntry& entry) {
  MutexLock lock(mutex_);
  if (entry.place == QueueEntry::Place::kOut) return false;
  if (entry.place == QueueEntry::Place::kAdmitted) --admitted_;
  if (entry.place == QueueEntry::Place::kQueued) queue_.Remove(entry);
  entry.place = QueueEntry::Place::kOut;
  return true;
}

Scheduler::Begun Scheduler::Push(QueueEntry& entry, bool may_run_here) {
  Seat* called = nullptr;
  MutexLock lock(mutex_);
  if (entry.place != QueueEntry::Place::kAdmitted) return {};  // removed meanwhile
  --admitted_;
  queue_.Push(entry);
  entry.place = QueueEntry::Place::kQueued;
  if (may_run_here) {
    if (Seat* const seat = BorrowedFor(entry)) return Begin(*seat, entry);
  }
  if (DeviceState* const device = LeastBusy(entry.devices)) called = CallLane(*device);
  lock.Unlock();
  if (called != nullptr) called->wake_.NotifyOne();
  return {};
}

Scheduler::Seat* Scheduler::BorrowedFor(const QueueEntry& entry) {
  if (queue_.size() != 1) return nullptr;  // those that wait go first
  if (borrowed_ >= options_.most_borrowed) return nullptr;
  DeviceState* const device = LeastBusy(entry.devices);
  if (device == nullptr || !device->any_thread || !Fits(*device, entry)) return nullptr;
  // A kernel's first run here may load a library or start threads.
  const auto warm = device->warm.find(entry.kernel->number());
  if (warm == device->warm.end() || !warm->second) return nullptr;

  queue_.Pop(device->index, /*hold=*/false, [](const QueueEntry&) { return true; });  // the only one, and it fits
  Seat* const seat = device->idle.back();
  device->idle.pop_back();
  seat->borrowed_ = true;
  ++ran_borrowed_;
  ++borrowed_;
  return seat;
}

std::string Scheduler::WhyLost(const DeviceState& device) {
  return device.still_lost.empty() ? device.lost : absl::StrCat(device.lost, "; ", device.still_lost);
}

bool Scheduler::Fits(const DeviceState& device, const QueueEntry& entry) {
  const DeviceNeed* const need = entry.NeedOf(device.index);
  return need != nullptr && device.room.Fits(need->extra_bytes);
}

Scheduler::Begun Scheduler::Begin(Seat& seat, QueueEntry& entry) {
  DeviceState& device = *seat.device_;
  entry.place = QueueEntry::Place::kOut;
  seat.current_ = &entry;
  seat.since_ = clock_.Now();
  seat.shared_ = false;
  ++running_;
  if (device.running++ == 0) device.occupied_since = seat.since_;
  device.room.Take(entry.NeedOf(device.index)->extra_bytes);
  if (device.running > 1) {
    for (Seat* const other : device.seats) other->shared_ = other->shared_ || other->current_ != nullptr;
  }
  if (device.warm.size() >= kMostWarm && !device.warm.contains(entry.kernel->number())) device.warm.clear();
  const bool cold = device.warm.try_emplace(entry.kernel->number(), false).second;
  return {&entry, &seat, seat.since_, cold};
}

Scheduler::Begun Scheduler::Take(Seat& seat) {
  MutexLock lock(mutex_);
  DeviceState& device = *seat.device_;
  while (true) {
    if (stopping_ || !device.lost.empty()) return {};
    QueueEntry* const entry =
        queue_.Pop(device.index, /*hold=*/device.running > 0, [&](const QueueEntry& one) { return Fits(device, one); });
    seat.called_.store(false, std::memory_order_relaxed);
    if (entry != nullptr) return Begin(seat, *entry);
    device.idle.push_back(&seat);
    if (options_.spin > nanoseconds::zero()) {
      lock.Unlock();
      const auto until = std::chrono::steady_clock::now() + options_.spin;
      while (!seat.called_.load(std::memory_order_acquire) && std::chrono::steady_clock::now() < until) Pause();
      lock.Lock();
    }
    seat.asleep_ = true;
    while (!seat.called_.load(std::memory_order_relaxed)) seat.wake_.Wait(mutex_);
    seat.asleep_ = false;
  }
}

bool Scheduler::Finished(Seat& seat, bool completed) {
  Seat* called = nullptr;
  MutexLock lock(mutex_);
  DeviceState& device = *seat.device_;
  const SteadyTime now = clock_.Now();
  const QueueEntry& entry = *seat.current_;
  seat.current_ = nullptr;
  --running_;
  if (--device.running == 0) device.occupied += now - device.occupied_since;
  device.room.GiveBack(entry.NeedOf(device.index)->extra_bytes);
  device.busy += now - seat.since_;
  queue_.Finished(entry.share);
  if (completed && !seat.borrowed_)
    device.warm[entry.kernel->number()] = true;  // only warm kernels run on borrowed seats
  const bool borrowed = std::exchange(seat.borrowed_, false);
  if (borrowed) {
    --borrowed_;
    device.idle.push_back(&seat);
  }
  // This made room, perhaps for an entry that another lane could take; this lane looks for itself, unless its thread
  // slept through the run.
  if (queue_.size() > (borrowed ? 0 : 1) || (borrowed && (!device.lost.empty() || stopping_)))
    called = CallLane(device);
  const bool shared = seat.shared_;
  lock.Unlock();
  if (called != nullptr) called->wake_.NotifyOne();
  return shared;
}

Scheduler::Seat* Scheduler::CallLane(DeviceState& device) {
  if (device.idle.empty()) return nullptr;
  Seat& seat = *device.idle.back();
  device.idle.pop_back();
  seat.called_.store(true, std::memory_order_release);
  return seat.asleep_ ? &seat : nullptr;
}

void Scheduler::CallAndWake(DeviceState& device) {
  if (Seat* const called = CallLane(device)) called->wake_.NotifyOne();
}

Scheduler::DeviceState* Scheduler::LeastBusy(std::uint64_t devices) {
  DeviceState* best = nullptr;
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    if ((devices >> device->index & 1) == 0 || device->idle.empty()) continue;
    if (best == nullptr || device->running < best->running) best = device.get();
  }
  return best;
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
  queue_.ForEach([&](QueueEntry& entry) {
    if ((entry.devices & healthy) == 0) stranded.push_back(&entry);
  });
  for (QueueEntry* const entry : stranded) {
    queue_.Remove(*entry);
    entry->place = QueueEntry::Place::kOut;
  }
  while (!device.idle.empty()) CallAndWake(device);  // its sleeping lanes have nothing to wait for
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

void Scheduler::Sample(const std::vector<std::uint64_t>& free_bytes, bool record_busy) {
  MutexLock lock(mutex_);
  const SteadyTime now = clock_.Now();
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    device->room.free_bytes = free_bytes[device->index];
    if (record_busy) {
      device->busy_history.emplace_back(now, BusyUntil(*device, now));
      if (device->busy_history.size() > kBusySamples) device->busy_history.pop_front();
    }
    // No more lanes of a device than there are jobs, even where a lane that was called is held up.
    const auto called = std::count_if(device->seats.begin(), device->seats.end(),
                                      [](const Seat* seat) { return seat->called_.load(std::memory_order_relaxed); });
    if (static_cast<std::size_t>(called) < queue_.size()) CallAndWake(*device);
  }
}

void Scheduler::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    while (!device->idle.empty()) CallAndWake(*device);
  }
}

nanoseconds Scheduler::BusyUntil(const DeviceState& device, SteadyTime now) const {
  nanoseconds busy = device.busy;
  for (const Seat* const seat : device.seats) {
    if (seat->current_ != nullptr) busy += now - seat->since_;
  }
  return busy;
}

std::size_t Scheduler::waiting() const {
  MutexLock lock(mutex_);
  return queue_.size();
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
    one.lost = WhyLost(*device);
    one.occupied = device->occupied;
    if (device->running > 0) one.occupied += std::max(now - device->occupied_since, nanoseconds::zero());
    if (device->busy_history.empty() || now <= device->busy_history.front().first) continue;
    const auto& [since, busy_then] = device->busy_history.front();
    const double lanes = static_cast<double>(std::max<std::size_t>(1, device->seats.size()));
    const double busy = static_cast<double>((BusyUntil(*device, now) - busy_then).count());
    one.busy_fraction = std::clamp(busy / static_cast<double>((now - since).count()) / lanes, 0.0, 1.0);
  }
  return all;
}

std::size_t Scheduler::Ahead(const QueueEntry& entry) const {
  MutexLock lock(mutex_);
  return entry.place == QueueEntry::Place::kQueued ? queue_.Ahead(entry) : 0;
}

std::vector<JobQueue::Position> Scheduler::Positions() const {
  MutexLock lock(mutex_);
  return queue_.Positions();
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
      if (device->running > 0 || !device->host_memory) continue;
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
