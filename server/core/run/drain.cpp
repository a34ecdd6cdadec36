#include "server/core/run/drain.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace hotplate::core {
namespace {

// On top of a kernel's own bound, for the lane to see to the end of the job.
constexpr nanoseconds kCancelMargin = std::chrono::seconds(1);
// For an end that is being written down.
constexpr nanoseconds kEndWritten = std::chrono::seconds(5);
// Nobody says when a client has fetched what is its, or when something has stalled.
constexpr std::chrono::milliseconds kLook{50};

bool IsChunked(const Job& job) { return job.spec().cancel_class() == CancelClass::kChunked; }

}  // namespace

void Drain::Begin(nanoseconds timeout, const std::string& reason) {
  {
    MutexLock lock(mutex_);
    end_ = std::chrono::steady_clock::now() + timeout;
  }
  parts_.jobs.Refuse(reason);
}

void Drain::Shorten(nanoseconds timeout) {
  MutexLock lock(mutex_);
  end_ = std::min(end_, std::chrono::steady_clock::now() + timeout);
}

Drain::Time Drain::end() const {
  MutexLock lock(mutex_);
  return end_;
}

bool Drain::OwesClients() {
  if (parts_.activities.GoOn()) return true;
  const std::optional<SteadyTime> idle_since = parts_.jobs.IdleSince();
  if (!idle_since) return true;
  const SteadyTime now = parts_.clock.Now(), last_use = parts_.activities.last_use();
  const nanoseconds silence = now - std::max(*idle_since, last_use);
  return now - last_use < kLinger || (silence < Activities::kStalled && parts_.jobs.AnyUnsent()) ||
         (silence < kFetchWithin && parts_.arrays.HasUnread());
}

bool Drain::Await() {
  const auto may_stay = [](const Job& job) { return job.suspended.load(); };  // by a drain before this one
  for (Time now = std::chrono::steady_clock::now(); now < end(); now = std::chrono::steady_clock::now()) {
    const Time look = std::min<Time>(end(), now + kLook);
    if (!parts_.jobs.AwaitEnds(look, may_stay)) continue;
    if (!OwesClients()) return true;
    std::this_thread::sleep_until(look);
  }
  return CutOff();
}

bool Drain::CutOff() {
  const std::vector<std::shared_ptr<Job>> late = parts_.jobs.Active();
  const std::string reason = absl::StrCat("was cancelled: the daemon stops: ", parts_.jobs.drain_reason());
  nanoseconds bound{};
  for (const std::shared_ptr<Job>& job : late) {
    if (job->suspended.load()) continue;
    if (job->ending.load()) {
      bound = std::max(bound, kEndWritten);
      continue;
    }
    if (!job->durable && IsChunked(*job)) {
      bound = std::max<nanoseconds>(bound, std::chrono::milliseconds(job->spec().cancel_bound_ms()));
    }
    parts_.cut_off(*job, reason);
  }
  const Time until = std::chrono::steady_clock::now() + bound + kCancelMargin;
  parts_.jobs.AwaitEnds(until, [](const Job& job) {
    return (job.durable && !job.ending.load()) || (job.record().state == JobState::kRunning && !IsChunked(job));
  });
  for (const std::shared_ptr<Job>& job : parts_.jobs.Active()) {
    if (job->durable && !job->ending.load()) {
      parts_.log(LogLevel::kInfo, absl::StrCat("job ", job->id.value(), " ", job->spec().name(),
                                               " goes on with the next daemon of this name"));
      parts_.jobs.TellWatchers(*job, absl::StrCat("job ", job->id.value(), " (", job->spec().name(),
                                                  ") goes on with the next daemon of this name"));
      continue;
    }
    parts_.log(LogLevel::kInfo,
               absl::StrCat("job ", job->id.value(), " ", job->spec().name(), " is cut off: it did not end in time"));
    // No End: its lane may tell that yet.
    parts_.jobs.TellWatchers(*job, absl::StrCat("job ", job->id.value(), " (", job->spec().name(), ") ",
                                                IsChunked(*job) ? "did not end in time" : "cannot be interrupted",
                                                ": it is cut off, without a result"));
  }
  return late.empty();
}

}  // namespace hotplate::core
