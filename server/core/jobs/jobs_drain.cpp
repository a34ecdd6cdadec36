// The jobs at the end of the daemon: from when on there are no new ones, and whether all are over.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/core/jobs/jobs.h"
#include "server/core/run/outside_work.h"

namespace hotplate::core {

void Jobs::Refuse(const std::string& reason) {
  MutexLock lock(mutex_);
  if (!draining_.load()) drain_reason_ = reason;
  draining_.store(true);
}

bool Jobs::RefuseIfIdleSince(SteadyTime since, const std::string& reason) {
  MutexLock lock(mutex_);
  const std::optional<SteadyTime> idle_since = IdleSinceLocked();
  if (!idle_since || *idle_since > since) return false;
  if (!draining_.load()) drain_reason_ = reason;
  draining_.store(true);
  return true;
}

bool Jobs::AwaitEnds(std::chrono::steady_clock::time_point until, absl::FunctionRef<bool(const Job&)> may_stay) {
  MutexLock lock(mutex_);
  while (true) {
    const bool stay = std::all_of(active_.begin(), active_.end(), [&](const Job* job) { return may_stay(*job); });
    if (stay && observers_.KnowAll()) return true;
    if (!ended_.WaitUntil(mutex_, until)) return false;
  }
}

std::string Jobs::drain_reason() const {
  MutexLock lock(mutex_);
  return drain_reason_;
}

absl::Status Jobs::DrainingError() const {
  return absl::UnavailableError(absl::StrCat("the daemon is draining and takes no new jobs: ", drain_reason()));
}

std::optional<SteadyTime> Jobs::IdleSince() const {
  MutexLock lock(mutex_);
  return IdleSinceLocked();
}

std::optional<SteadyTime> Jobs::IdleSinceLocked() const {
  SteadyTime since = idle_since_;
  for (const Job* const job : active_) {
    if (job->suspended.load()) continue;
    const std::optional<SteadyTime> quiet = job->work != nullptr ? job->work->quiet_since() : std::nullopt;
    if (!quiet) return std::nullopt;
    since = std::max(since, *quiet);
  }
  return since;
}

}  // namespace hotplate::core
