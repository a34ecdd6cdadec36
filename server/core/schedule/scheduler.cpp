#include "server/core/schedule/scheduler.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <thread>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"

namespace hotplate::core {
namespace {

constexpr std::size_t kBusySamples = 10;  // a second
constexpr std::uint32_t kMostLeft = 8;    // times that an entry is left to its home

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

void Scheduler::AddSeat(unsigned device, Seat& seat, bool for_worker) {
  MutexLock lock(mutex_);
  seat.device_ = devices_[device].get();
  seat.for_worker_ = for_worker;
  seat.device_->seats.push_back(&seat);
  seat.device_->lanes += for_worker ? 0 : 1;
}

absl::Status Scheduler::Admit(QueueEntry& entry, Limit limit) {
  MutexLock lock(mutex_);
  if (limit == Limit::kCounts && Waiting() + admitted_ >= queue_.capacity()) {
    return absl::ResourceExhaustedError(absl::StrCat("the queue is full: ", Waiting() + admitted_,
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
  Seat* called = nullptr;
  MutexLock lock(mutex_);
  if (entry.place == QueueEntry::Place::kOut) return false;
  if (entry.place == QueueEntry::Place::kAdmitted) --admitted_;
  if (entry.place == QueueEntry::Place::kAside) turns_.Remove(entry);
  if (entry.place == QueueEntry::Place::kQueued) {
    queue_.Remove(entry);
    called = CallFor(PassOn(entry.turn));
  }
  entry.place = QueueEntry::Place::kOut;
  lock.Unlock();
  if (called != nullptr) called->wake_.NotifyOne();
  return true;
}

Scheduler::Begun Scheduler::Push(QueueEntry& entry, bool may_run_here) {
  Seat* called = nullptr;
  MutexLock lock(mutex_);
  if (entry.place != QueueEntry::Place::kAdmitted) return {};  // removed meanwhile
  --admitted_;
  if (!turns_.Enter(entry)) {
    entry.place = QueueEntry::Place::kAside;
    return {};
  }
  queue_.Push(entry);
  entry.place = QueueEntry::Place::kQueued;
  if (may_run_here) {
    if (Seat* const seat = BorrowedFor(entry)) return Begin(*seat, entry);
  }
  called = CallFor(&entry);
  lock.Unlock();
  if (called != nullptr) called->wake_.NotifyOne();
  return {};
}

QueueEntry* Scheduler::PassOn(std::uint64_t turn) {
  QueueEntry* const next = turns_.Leave(turn);
  if (next == nullptr) return nullptr;
  queue_.Push(*next);
  next->place = QueueEntry::Place::kQueued;
  return next;
}

Scheduler::Seat* Scheduler::CallFor(const QueueEntry* entry) {
  DeviceState* const device = entry == nullptr ? nullptr : LeastBusy(*entry);
  return device == nullptr ? nullptr : Call(*device, entry->for_worker());
}

bool Scheduler::ClaimTurn(std::uint64_t turn) {
  MutexLock lock(mutex_);
  return turns_.Claim(turn);
}

void Scheduler::LeaveTurn(std::uint64_t turn) {
  MutexLock lock(mutex_);
  Seat* const called = CallFor(PassOn(turn));
  lock.Unlock();
  if (called != nullptr) called->wake_.NotifyOne();
}

Scheduler::Seat* Scheduler::BorrowedFor(const QueueEntry& entry) {
  if (queue_.size(/*for_worker=*/false) != 1) return nullptr;  // those that wait go first
  if (borrowed_ >= options_.most_borrowed) return nullptr;
  DeviceState* const device = LeastBusy(entry);
  if (device == nullptr || entry.for_worker() || !device->any_thread || !Fits(*device, entry)) return nullptr;
  // A kernel's first run here may load a library or start threads.
  const auto warm = device->warm.find(entry.kernel->number());
  if (warm == device->warm.end() || !warm->second) return nullptr;

  // The only one, and it fits.
  queue_.Pop(device->index, /*for_worker=*/false, /*hold=*/false,
             [](const QueueEntry&) { return JobQueue::Fit::kYes; });
  Seat* const seat = device->idle.back();
  device->idle.pop_back();
  seat->borrowed_ = true;
  ++ran_borrowed_;
  ++borrowed_;
  return seat;
}

bool Scheduler::Fits(const DeviceState& device, const QueueEntry& entry) {
  const DeviceNeed* const need = entry.NeedOf(device.index);
  return need != nullptr && device.room.Fits(need->extra_bytes) &&
         (!entry.for_worker() || entry.workers <= device.workers - device.workers_taken);
}

Scheduler::DeviceState* Scheduler::HomeOf(const QueueEntry& entry) const {
  if ((entry.home & entry.devices) == 0) return nullptr;  // it has none, or was lost
  DeviceState& home = *devices_[static_cast<std::size_t>(std::countr_zero(entry.home))];
  return home.lost.empty() ? &home : nullptr;
}

bool Scheduler::IsLeftToHome(const DeviceState& device, const QueueEntry& entry) const {
  const DeviceState* const home = HomeOf(entry);
  if (home == nullptr || home == &device || entry.overtaken >= kMostLeft) return false;
  return home->running - home->running_workers < home->lanes && Fits(*home, entry) && !IsCrowded(*home, entry);
}

bool Scheduler::IsCrowded(const DeviceState& device, const QueueEntry& entry) {
  if (entry.for_worker() || !entry.comparable || device.running == device.running_workers) return false;
  const auto of_its_kind = std::count_if(device.seats.begin(), device.seats.end(), [&](const Seat* seat) {
    return seat->current_ != nullptr && !seat->for_worker_ && seat->current_->kind == entry.kind;
  });
  return of_its_kind > 0 &&
         of_its_kind >= device.side_by_side.MostOf(entry.kind, static_cast<std::uint32_t>(device.lanes));
}

void Scheduler::CountCrowd(DeviceState& device, SteadyTime now) {
  device.crowd += static_cast<double>(device.running) * static_cast<double>((now - device.crowd_at).count());
  device.crowd_at = now;
}

void Scheduler::NoteBesideItsKind(const Seat& seat, SteadyTime now, bool completed) {
  DeviceState& device = *seat.device_;
  const QueueEntry& entry = *seat.current_;
  if (entry.for_worker() || !entry.comparable || entry.kind <= RunTimes::kMoment) return;
  if (!completed) return device.side_by_side.EndedOtherwise(entry.kind);
  const nanoseconds time = now - seat.since_;
  std::optional<double> together;
  if (seat.tells_) together = (device.crowd - seat.crowd_since_) / static_cast<double>(time.count());
  device.side_by_side.Ran(entry.kind, together, time);
}

bool Scheduler::HoldsFor(const DeviceState& device, bool for_worker) {
  return for_worker ? device.running_workers > 0 : device.running > device.running_workers;
}

Scheduler::Begun Scheduler::Begin(Seat& seat, QueueEntry& entry) {
  DeviceState& device = *seat.device_;
  entry.place = QueueEntry::Place::kOut;
  seat.current_ = &entry;
  seat.since_ = clock_.Now();
  seat.shared_ = false;
  if (device.warm.size() >= kMostWarm && !device.warm.contains(entry.kernel->number())) device.warm.clear();
  const auto [warm, cold] = device.warm.try_emplace(entry.kernel->number(), false);
  seat.tells_ = warm->second;
  CountCrowd(device, seat.since_);
  seat.crowd_since_ = device.crowd;
  ++running_;
  if (device.running++ == 0) device.occupied_since = seat.since_;
  device.room.Take(entry.NeedOf(device.index)->extra_bytes);
  device.workers_taken += entry.workers;
  if (entry.for_worker()) ++device.running_workers;
  if (device.running > 1) {
    for (Seat* const other : device.seats) {
      if (other->current_ == nullptr) continue;
      other->shared_ = true;
      if (other->current_->kind != entry.kind) other->tells_ = seat.tells_ = false;
    }
  }
  return {&entry, &seat, seat.since_, cold};
}

Scheduler::Begun Scheduler::Take(Seat& seat) {
  MutexLock lock(mutex_);
  DeviceState& device = *seat.device_;
  while (true) {
    if (stopping_ || !device.lost.empty()) return {};
    absl::InlinedVector<RunTimes::Kind, 4> crowded;
    QueueEntry* const entry =
        queue_.Pop(device.index, seat.for_worker_, HoldsFor(device, seat.for_worker_), [&](QueueEntry& one) {
          mutex_.AssertHeld();
          const bool fits = Fits(device, one);
          one.lacked_room |= !fits && one.previous == nullptr;  // it was its turn
          if (!fits || IsLeftToHome(device, one)) return JobQueue::Fit::kNo;
          if (!one.comparable) return JobQueue::Fit::kYes;
          // The same for all of a kind, of which many may wait.
          if (std::find(crowded.begin(), crowded.end(), one.kind) != crowded.end())
            return JobQueue::Fit::kWaitsForItsKind;
          if (!IsCrowded(device, one)) return JobQueue::Fit::kYes;
          crowded.push_back(one.kind);
          return JobQueue::Fit::kWaitsForItsKind;
        });
    seat.called_.store(false, std::memory_order_relaxed);
    if (entry != nullptr) {
      const Begun begun = Begin(seat, *entry);
      // One that took many places has made room for several.
      if (seat.for_worker_ && queue_.size(/*for_worker=*/true) > 0 && device.workers_taken < device.workers)
        CallAndWake(device, /*for_worker=*/true);
      // Entries that were left to this device may have to go elsewhere now.
      for (std::size_t i = 0; queue_.with_home() > 0 && i < devices_.size(); ++i) {
        if (devices_[i].get() != &device) CallAndWake(*devices_[i], /*for_worker=*/false);
      }
      return begun;
    }
    device.IdleFor(seat.for_worker_).push_back(&seat);
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
  device.busy += BusyTime(seat, now);
  CountCrowd(device, now);
  NoteBesideItsKind(seat, now, completed);
  seat.current_ = nullptr;
  --running_;
  if (--device.running == 0) device.occupied += now - device.occupied_since;
  const std::uint64_t bytes = entry.NeedOf(device.index)->extra_bytes;
  device.room.GiveBack(bytes);
  device.workers_taken -= entry.workers;
  if (entry.for_worker()) --device.running_workers;
  queue_.Finished(entry);
  const QueueEntry* const next = PassOn(entry.turn);
  if (completed && !seat.borrowed_)
    device.warm[entry.kernel->number()] = true;  // only warm kernels run on borrowed seats
  const bool borrowed = std::exchange(seat.borrowed_, false);
  if (borrowed) {
    --borrowed_;
    device.idle.push_back(&seat);
  }
  // This made room, perhaps for an entry that another lane could take; this lane looks for itself, unless its thread
  // slept through the run.
  if (queue_.size(seat.for_worker_) > (borrowed ? 0 : 1) || (borrowed && (!device.lost.empty() || stopping_)))
    called = Call(device, seat.for_worker_);
  // The others may have waited for its memory.
  if (bytes > 0 && queue_.size(!seat.for_worker_) > 0) CallAndWake(device, !seat.for_worker_);
  // One for this device is found as any other.
  if (called == nullptr && next != nullptr && (next->devices >> device.index & 1) == 0) called = CallFor(next);
  const bool shared = seat.shared_;
  lock.Unlock();
  if (called != nullptr) called->wake_.NotifyOne();
  return shared;
}

Scheduler::Seat* Scheduler::Call(DeviceState& device, bool for_worker) {
  std::vector<Seat*>& idle = device.IdleFor(for_worker);
  if (idle.empty()) return nullptr;
  Seat& seat = *idle.back();
  idle.pop_back();
  seat.called_.store(true, std::memory_order_release);
  return seat.asleep_ ? &seat : nullptr;
}

void Scheduler::CallAndWake(DeviceState& device, bool for_worker) {
  if (Seat* const called = Call(device, for_worker)) called->wake_.NotifyOne();
}

Scheduler::DeviceState* Scheduler::LeastBusy(const QueueEntry& entry) {
  DeviceState* const home = HomeOf(entry);
  if (home != nullptr && !home->IdleFor(entry.for_worker()).empty() && Fits(*home, entry) && !IsCrowded(*home, entry))
    return home;
  DeviceState* best = nullptr;
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    if ((entry.devices >> device->index & 1) == 0 || device->IdleFor(entry.for_worker()).empty()) continue;
    if (IsCrowded(*device, entry)) continue;  // the lane that ends there looks at the queue
    if (best == nullptr || device->running < best->running) best = device.get();
  }
  return best;
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
    // No more of a device's threads than there are jobs, even where one that was called is held up.
    for (const bool for_worker : {false, true}) {
      const auto called = std::count_if(device->seats.begin(), device->seats.end(), [&](const Seat* seat) {
        return seat->for_worker_ == for_worker && seat->called_.load(std::memory_order_relaxed);
      });
      if (static_cast<std::size_t>(called) < queue_.size(for_worker)) CallAndWake(*device, for_worker);
    }
  }
}

void Scheduler::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    while (!device->idle.empty()) CallAndWake(*device, /*for_worker=*/false);
    while (!device->idle_workers.empty()) CallAndWake(*device, /*for_worker=*/true);
  }
}

}  // namespace hotplate::core
