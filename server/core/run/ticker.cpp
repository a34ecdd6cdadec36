#include "server/core/run/ticker.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/quantity.h"

namespace hotplate::core {
namespace {

// While there are jobs, and while there are none.
constexpr std::chrono::milliseconds kTick{10};
constexpr std::chrono::milliseconds kIdleTick{50};
constexpr nanoseconds kSampleInterval = std::chrono::milliseconds(100);
constexpr nanoseconds kExpireInterval = std::chrono::seconds(1);

}  // namespace

Ticker::Ticker(Parts parts) : parts_(std::move(parts)), thread_([this] { Run(); }) {}

Ticker::~Ticker() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

bool Ticker::Sleep() {
  const auto until = std::chrono::steady_clock::now() + (parts_.jobs.HasWork() ? kTick : kIdleTick);
  MutexLock lock(mutex_);
  while (!stopping_ && wake_.WaitUntil(mutex_, until)) {
  }
  return !stopping_;
}

void Ticker::Run() {
  // By the real clock, whatever clock the core has.
  auto sampled = std::chrono::steady_clock::now() - kSampleInterval;
  auto expired = sampled;
  while (Sleep()) {
    LookAtJobs();
    const auto now = std::chrono::steady_clock::now();
    const bool interval_over = now - sampled >= kSampleInterval;
    if (interval_over || parts_.scheduler.waiting() > 0) {
      parts_.scheduler.Sample(parts_.devices.FreeBytes(), /*record_busy=*/interval_over);
      if (interval_over) sampled = now;
    }
    if (now - expired >= kExpireInterval) {
      Expire();
      expired = now;
    }
  }
}

void Ticker::LookAtJobs() {
  for (const std::shared_ptr<Job>& job : parts_.jobs.GraceOver()) {
    parts_.cancel(*job, absl::StrCat("was cancelled: its client did not come back within ",
                                     DurationText(parts_.disconnect_grace)));
  }
  parts_.jobs.EvictOld();
  parts_.jobs.TellLate();
  std::vector<std::shared_ptr<Job>> running;
  parts_.scheduler.ForEachRunning(
      [&](QueueEntry& entry, SteadyTime) { running.push_back(static_cast<Job&>(entry).shared_from_this()); });
  for (const std::shared_ptr<Job>& job : running) parts_.jobs.Look(*job);
  parts_.sweeps.Look();
}

void Ticker::Expire() {
  parts_.sessions.Expire();
  parts_.queue_left();
  // A job that waits for the memory of an abandoned session would wait for the session timeout.
  const std::uint64_t wanted = parts_.scheduler.HostBytesWanted();
  if (wanted > 0) parts_.sessions.Reclaim(wanted);
}

}  // namespace hotplate::core
