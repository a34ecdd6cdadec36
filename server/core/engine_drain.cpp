// The end of the daemon, and its condition until then.
#include <algorithm>

#include "server/core/engine_impl.h"

namespace hotplate::core {
namespace {

// On top of a kernel's own bound, for the lane to see to the end of the job.
constexpr nanoseconds kCancelMargin = std::chrono::seconds(1);

}  // namespace

void Engine::Impl::RefuseJobs(const std::string& reason) {
  if (!draining_.load()) drain_reason_ = reason;
  draining_.store(true);
}

void Engine::Impl::LimitDrain(nanoseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  if (!drain_end_ || end < *drain_end_) drain_end_ = end;
}

bool Engine::Impl::Drain(nanoseconds timeout, const std::string& reason) {
  std::unique_lock lock(mutex_);
  RefuseJobs(reason);
  // By the real clock: this is about leaving in time.
  LimitDrain(timeout);
  for (;;) {
    const bool quiet = running_ == 0 && queue_.size() == 0 && observers_.KnowAll() && !ActivityGoesOn(clock_.Now());
    if (quiet) return true;
    const auto end = *drain_end_;  // another thread may bring it forward
    if (std::chrono::steady_clock::now() >= end) break;
    quiet_.wait_until(lock, end);
  }

  Aftermath after;
  nanoseconds bound{};
  const std::vector<Job*> late = ActiveJobs();
  for (Job* job : late) {
    const KernelSpec& spec = *job->bound.call.spec;
    if (job->state == JobState::kRunning && spec.cancel_class() == CancelClass::kChunked) {
      bound = std::max<nanoseconds>(bound, std::chrono::milliseconds(spec.cancel_bound_ms()));
    }
    RequestCancel(*job, "was cancelled: the daemon stops", after);
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
    LimitDrain(timeout);
  }
  quiet_.notify_all();
}

void Engine::Impl::BeginActivity() {
  std::scoped_lock lock(mutex_);
  ++activities_;
  NoteUse();
}

void Engine::Impl::EndActivity() {
  std::scoped_lock lock(mutex_);
  --activities_;
  NoteUse();
  if (draining_.load()) quiet_.notify_all();
}

bool Engine::Impl::ActivityGoesOn(SteadyTime now) const { return activities_ > 0 && now - last_use() < kStalled; }

nanoseconds Engine::Impl::IdleFor(SteadyTime now) const {
  if (running_ > 0 || queue_.size() > 0 || ActivityGoesOn(now)) return nanoseconds::zero();
  return std::max(now - std::max(idle_since_, last_use()), nanoseconds::zero());
}

EngineStatus Engine::Impl::Status() const {
  EngineStatus status;
  std::scoped_lock lock(mutex_);
  const SteadyTime now = clock_.Now();
  status.pending = static_cast<std::uint32_t>(queue_.size());
  status.running = running_;
  status.ended = table_.ended_ever();
  status.draining = draining_.load();
  status.idle = IdleFor(now);
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    EngineStatus::DeviceStatus one;
    one.id = device->device->info().id;
    one.running = device->running;
    one.lost = device->lost;
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
