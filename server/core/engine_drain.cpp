// The end of the daemon, and its condition until then.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/core/engine_impl.h"

namespace hotplate::core {
namespace {

// On top of a kernel's own bound, for the lane to see to the end of the job.
constexpr nanoseconds kCancelMargin = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kLook{50};

}  // namespace

void Engine::Impl::RefuseJobs(const std::string& reason) {
  if (!draining_.load()) drain_reason_ = reason;
  draining_.store(true);
}

void Engine::Impl::BeginDrain(nanoseconds timeout, const std::string& reason) {
  std::scoped_lock lock(mutex_);
  RefuseJobs(reason);
  // By the real clock: this is about leaving in time.
  drain_end_ = std::chrono::steady_clock::now() + timeout;
}

bool Engine::Impl::IsQuiet() const {
  return running_ == 0 && queue_.size() == 0 && observers_.KnowAll() && !ActivityGoesOn(clock_.Now());
}

bool Engine::Impl::OwesClients() {
  const bool unsent = observers_.AnyUnsent(), unread = arrays_.HasUnread();
  std::scoped_lock lock(mutex_);
  const SteadyTime now = clock_.Now();
  const nanoseconds silence = now - last_sign();
  return !IsQuiet() || now - last_use() < kLinger || (unsent && silence < kStalled) ||
         (unread && silence < kFetchWithin);
}

bool Engine::Impl::AwaitDrained() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (IsQuiet()) {
      lock.unlock();
      if (!OwesClients()) return true;
      lock.lock();
    }
    const auto now = std::chrono::steady_clock::now();
    const auto end = drain_end_;  // another thread may bring it forward
    if (now >= end) break;
    // Nobody says when a client has fetched what is its, or when something has stalled.
    quiet_.wait_until(lock, std::min<std::chrono::steady_clock::time_point>(end, now + kLook));
  }

  Aftermath after;
  nanoseconds bound{};
  const std::vector<Job*> late = ActiveJobs();
  for (Job* job : late) {
    const KernelSpec& spec = *job->bound.call.spec;
    if (job->state == JobState::kRunning && spec.cancel_class() == CancelClass::kChunked) {
      bound = std::max<nanoseconds>(bound, std::chrono::milliseconds(spec.cancel_bound_ms()));
    }
    RequestCancel(*job, absl::StrCat("was cancelled: the daemon stops: ", drain_reason_), after);
  }
  lock.unlock();
  Perform(after);
  lock.lock();
  const auto only_uninterruptible = [&] {
    const std::vector<Job*> active = ActiveJobs();
    return std::none_of(active.begin(), active.end(), [](const Job* job) {
      return job->state == JobState::kPending || job->bound.call.spec->cancel_class() == CancelClass::kChunked;
    });
  };
  quiet_.wait_for(lock, bound + kCancelMargin, [&] { return only_uninterruptible() && observers_.KnowAll(); });
  Aftermath cut_off;
  std::vector<std::pair<std::shared_ptr<const Job>, std::string>> notices;
  for (const Job* job : ActiveJobs()) {
    const KernelSpec& spec = *job->bound.call.spec;
    Log(cut_off, LogLevel::kInfo,
        absl::StrCat("job ", job->id.value(), " ", spec.name(), " is cut off: it did not end in time"));
    const bool chunked = spec.cancel_class() == CancelClass::kChunked;
    notices.emplace_back(
        job->shared_from_this(),
        absl::StrCat("job ", job->id.value(), " (", spec.name(), ") ",
                     chunked ? "did not end in time" : "cannot be interrupted", ": it is cut off, without a result"));
  }
  lock.unlock();
  Perform(cut_off);
  // No End: its lane may tell that yet.
  for (const auto& [job, notice] : notices) observers_.TellWatchers(*job, notice);
  return late.empty();
}

bool Engine::Impl::DrainIfIdle(nanoseconds limit, const std::string& reason) {
  std::scoped_lock lock(mutex_);
  if (IdleFor(clock_.Now()) < limit) return false;
  RefuseJobs(reason);
  return true;
}

void Engine::Impl::ShortenDrain(nanoseconds timeout) {
  {
    std::scoped_lock lock(mutex_);
    drain_end_ = std::min(drain_end_, std::chrono::steady_clock::now() + timeout);
  }
  quiet_.notify_all();
}

void Engine::Impl::BeginActivity(Moment& moved) {
  std::scoped_lock lock(mutex_);
  activities_.insert(&moved);
  NoteMove(moved);
}

void Engine::Impl::EndActivity(Moment& moved) {
  std::scoped_lock lock(mutex_);
  activities_.erase(&moved);
  NoteUse();
  if (draining_.load()) quiet_.notify_all();
}

bool Engine::Impl::ActivityGoesOn(SteadyTime now) const {
  return std::any_of(activities_.begin(), activities_.end(), [now](const Moment* moved) {
    return now - SteadyTime(nanoseconds(moved->load(std::memory_order_relaxed))) < kStalled;
  });
}

nanoseconds Engine::Impl::IdleFor(SteadyTime now) const {
  if (running_ > 0 || queue_.size() > 0 || ActivityGoesOn(now)) return nanoseconds::zero();
  return std::max(now - last_sign(), nanoseconds::zero());
}

EngineStatus Engine::Impl::Status() const {
  EngineStatus status;
  std::scoped_lock lock(mutex_);
  const SteadyTime now = clock_.Now();
  status.pending = static_cast<std::uint32_t>(queue_.size());
  status.running = running_;
  status.ended = table_.ended_ever();
  status.ran_in_submit = ran_here_;
  status.draining = draining_.load();
  status.idle = IdleFor(now);
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    EngineStatus::DeviceStatus one;
    one.id = device->device->info().id;
    one.running = device->running;
    one.idle_lanes = static_cast<std::uint32_t>(device->idle.size());
    one.lost = device->lost;
    one.occupied = device->occupied;
    if (device->running > 0) one.occupied += std::max(now - device->occupied_since, nanoseconds::zero());
    if (!device->busy_history.empty() && now > device->busy_history.front().first) {
      const auto& [since, busy_then] = device->busy_history.front();
      const double lanes = static_cast<double>(std::max<std::size_t>(1, device->lanes.size()));
      const double busy = static_cast<double>((BusyUntil(*device, now) - busy_then).count());
      one.busy_fraction = std::clamp(busy / static_cast<double>((now - since).count()) / lanes, 0.0, 1.0);
    }
    status.devices.push_back(std::move(one));
  }
  return status;
}

}  // namespace hotplate::core
