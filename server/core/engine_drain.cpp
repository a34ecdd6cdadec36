// The end of the daemon, and its condition until then.
#include <algorithm>

#include "server/core/engine_impl.h"

namespace hotplate::core {
namespace {

// On top of a kernel's own bound, for the lane to see to the end of the job.
constexpr nanoseconds kCancelMargin = std::chrono::seconds(1);

}  // namespace

bool Engine::Impl::Drain(nanoseconds timeout, const std::string& reason) {
  std::unique_lock lock(mutex_);
  if (!draining_.load()) drain_reason_ = reason;
  draining_.store(true);
  const auto quiet = [&] { return running_ == 0 && queue_.size() == 0 && observers_.KnowAll(); };
  // By the real clock: this is about leaving in time.
  if (quiet_.wait_for(lock, timeout, quiet)) return true;

  Aftermath after;
  nanoseconds bound{};
  for (Job* job : ActiveJobs()) {
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
  return false;
}

EngineStatus Engine::Impl::Status() const {
  EngineStatus status;
  std::scoped_lock lock(mutex_);
  const SteadyTime now = clock_.Now();
  status.pending = static_cast<std::uint32_t>(queue_.size());
  status.running = running_;
  status.ended = table_.ended_ever();
  status.draining = draining_.load();
  status.idle = running_ == 0 && queue_.size() == 0 ? now - idle_since_ : nanoseconds::zero();
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
