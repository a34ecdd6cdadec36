// What happens by time: late events, progress, time limits, disconnect graces, expiries.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"
#include "server/core/engine_impl.h"
#include "server/core/time_text.h"

namespace hotplate::core {
namespace {

// While jobs run or wait, and while none do.
constexpr std::chrono::milliseconds kTick{10};
constexpr std::chrono::milliseconds kIdleTick{50};
constexpr nanoseconds kProgressInterval = std::chrono::milliseconds(100);
constexpr nanoseconds kSampleInterval = std::chrono::milliseconds(100);
constexpr std::size_t kBusySamples = 10;  // a second
constexpr nanoseconds kExpireInterval = std::chrono::seconds(1);
// Of a session's id: whoever knows all of it can act as that session, and more people may read the log.
constexpr std::size_t kShownDigits = 8;

}  // namespace

void Engine::Impl::RunTicker() {
  // By the real clock, whatever clock the engine has.
  auto sampled = std::chrono::steady_clock::now() - kSampleInterval;
  auto expired = sampled;
  while (true) {
    Aftermath after;
    std::vector<std::pair<std::shared_ptr<Job>, double>> progress;
    std::vector<std::shared_ptr<Job>> untold;
    auto told = untold.begin();  // from here on those whose observers have heard all, as of tiny jobs
    bool room_wanted = false;
    {
      std::unique_lock lock(mutex_);
      const bool active = running_ > 0 || queue_.size() > 0 || !untold_.empty();
      ticker_wake_.wait_for(lock, active ? kTick : kIdleTick, [&] { return stopping_; });
      if (stopping_) return;
      std::swap(untold, untold_);
      told = std::partition(untold.begin(), untold.end(), [](const std::shared_ptr<Job>& job) {
        job->untold = false;
        return !job->subscriptions.empty();
      });
      Tick(clock_.Now(), after, progress);
      room_wanted = queue_.size() > 0;
    }
    Perform(after);
    for (auto job = untold.begin(); job != told; ++job) Tell(**job);
    for (const auto& [job, fraction] : progress) {
      if (observers_.TellProgress(*job, fraction)) ReleaseInlineData(*job);
    }

    const auto now = std::chrono::steady_clock::now();
    if (now - sampled >= kSampleInterval || room_wanted) {
      const bool interval_over = now - sampled >= kSampleInterval;
      SampleDevices(clock_.Now(), interval_over);
      if (interval_over) sampled = now;
    }
    if (now - expired >= kExpireInterval) {
      Expire();
      expired = now;
    }
  }
}

void Engine::Impl::Tick(SteadyTime now, Aftermath& after,
                        std::vector<std::pair<std::shared_ptr<Job>, double>>& progress) {
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    for (const std::unique_ptr<LaneState>& lane : device->lanes) {
      if (lane->current == nullptr) continue;
      Job& job = *lane->current;
      if (job.time_limit && !job.time_limit_reached && !job.cancel_requested &&
          now - job.start_time >= *job.time_limit) {
        job.time_limit_reached = true;
        job.control.RequestCancel();
      }
      const double fraction = job.control.progress();
      if (fraction != job.told_progress && !job.subscriptions.empty() &&
          now - job.told_progress_time >= kProgressInterval) {
        job.told_progress = fraction;
        job.told_progress_time = now;
        progress.emplace_back(job.shared_from_this(), fraction);
      }
    }
  }
  std::erase_if(in_grace_, [&](const std::shared_ptr<Job>& job) {
    if (IsEnd(job->state) || !job->grace_end) return true;
    if (now < *job->grace_end) return false;
    RequestCancel(
        *job,
        absl::StrCat("was cancelled: its client did not come back within ", DurationText(options_.disconnect_grace)),
        after);
    return true;
  });
  while (std::shared_ptr<Job> old = table_.Evict(now)) after.evicted.push_back(std::move(old));
}

nanoseconds Engine::Impl::BusyUntil(const DeviceState& device, SteadyTime now) const {
  nanoseconds busy = device.busy;
  for (const std::unique_ptr<LaneState>& lane : device.lanes) {
    if (lane->current != nullptr) busy += now - lane->current->start_time;
  }
  return busy;
}

// How much room there is, and how busy the lanes were. Jobs that found no room are tried again.
void Engine::Impl::SampleDevices(SteadyTime now, bool record_busy) {
  std::vector<std::uint64_t> free_bytes;
  for (const std::unique_ptr<DeviceState>& device : devices_) free_bytes.push_back(device->device->FreeBytes());
  Aftermath after;
  {
    std::scoped_lock lock(mutex_);
    for (const std::unique_ptr<DeviceState>& device : devices_) {
      device->room.free_bytes = free_bytes[device->index];
      if (record_busy) {
        device->busy_history.emplace_back(now, BusyUntil(*device, now));
        if (device->busy_history.size() > kBusySamples) device->busy_history.pop_front();
      }
      // No more lanes of a device than there are jobs, even where a lane that was called is held up.
      const auto called = std::count_if(
          device->lanes.begin(), device->lanes.end(),
          [](const std::unique_ptr<LaneState>& lane) { return lane->called.load(std::memory_order_relaxed); });
      if (static_cast<std::size_t>(called) < queue_.size()) CallLane(*device, after);
    }
  }
  Perform(after);
}

void Engine::Impl::Expire() {
  Aftermath after;
  std::vector<std::vector<std::shared_ptr<const void>>> gone;
  {
    // Under one lock, so that a call that comes meanwhile is before the end of its session or after it. Silent ones
    // have no jobs.
    std::scoped_lock lock(mutex_);
    const SteadyTime now = clock_.Now();
    const ArrayHolders holders = arrays_.SessionsWithArrays();
    for (const auto& [holder, bytes] : holders) sessions_.Readmit(holder, now);
    for (const SessionId& session : sessions_.Silent(now)) {
      Log(after, LogLevel::kInfo,
          absl::StrCat("session ", ShownPart(session), " was silent for ", DurationText(options_.session_timeout),
                       " and is ended"));
      sessions_.End(session);
      if (holders.contains(session)) gone.push_back(arrays_.EndSession(session));
    }
  }
  gone.clear();
  FreeExpired(nanoseconds::max(), after);
  Perform(after);
  // A job that waits for the memory of an abandoned session would wait for the session timeout.
  std::uint64_t wanted = 0;
  {
    std::scoped_lock lock(mutex_);
    wanted = BytesWantedByQueue();
  }
  if (wanted > 0) Reclaim(wanted);
}

std::string Engine::Impl::ShownPart(const SessionId& session) { return session.value().substr(0, kShownDigits); }

void Engine::Impl::FreeExpired(nanoseconds upload_grace, Aftermath& after) {
  for (const ArraySnapshot& array : arrays_.Expire(upload_grace)) {
    Log(after, LogLevel::kInfo,
        absl::StrCat("array ", array.id.value(),
                     array.state == ArrayState::kReady ? " is freed: its lease has run out"
                                                       : " is freed: its upload was not finished"));
  }
}

}  // namespace hotplate::core
