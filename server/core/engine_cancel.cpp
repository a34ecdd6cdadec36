// How jobs are cancelled: on request, with their client, session or token, or because the daemon ends.
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/engine.h"

namespace hotplate::core {

void Engine::CutOff(Job& job, const std::string& reason) {
  if (!job.durable) {
    CancelJob(job, reason);
    return;
  }
  options_.job_log->Suspend();
  if (job.sweep != nullptr) return job.sweep->Suspend();
  if (scheduler_.Remove(job)) {
    job.suspended.store(true);
  } else {
    job.control.RequestCancel();
  }
}

bool Engine::CancelJob(Job& job, const std::string& reason) {
  if (!jobs_.RequestCancel(job, reason)) return false;
  if (job.sweep != nullptr) {
    job.sweep->Cancel(job, reason);
  } else if (TakeOut(job)) {
    EndCancelled(job, reason);
  } else {
    job.control.RequestCancel();
  }
  return true;
}

std::uint32_t Engine::CancelJobsOf(const std::string& token, const std::string& reason) {
  std::uint32_t cancelled = 0;
  for (const std::shared_ptr<Job>& job : jobs_.Active()) {
    if (job->owner.token != token) continue;
    if (jobs_.CancelLater(*job, reason) || CancelJob(*job, reason)) ++cancelled;
  }
  return cancelled;
}

void Engine::EndIfCancelled(Job& job) {
  const Jobs::Standing standing = jobs_.StandingOf(job);
  if (standing.cancel_requested && TakeOut(job)) EndCancelled(job, standing.cancel_reason);
}

bool Engine::TakeOut(Job& job) { return scheduler_.Remove(job) || job.suspended.exchange(false); }

void Engine::EndCancelled(Job& job, const std::string& reason) {
  jobs_.End(job, {.state = JobState::kCancelled,
                  .error = absl::CancelledError(absl::StrCat("job ", job.id.value(), " ", reason)),
                  .outputs = {},
                  .receipt = std::nullopt});
}

void Engine::Unsubscribe(const std::shared_ptr<JobObserver>& observer, OnDisconnect policy) {
  for (const std::shared_ptr<Job>& job : jobs_.Unsubscribe(observer, policy)) {
    CancelJob(*job, "was cancelled: its client went away");
  }
}

absl::StatusOr<JobSnapshot> Engine::Cancel(const Principal& who, const JobId& id) {
  const absl::StatusOr<std::shared_ptr<Job>> job = jobs_.Find(who, id);
  if (!job.ok()) return job.status();
  CancelJob(**job, "was cancelled on request");
  return jobs_.SnapshotOf(**job);
}

void Engine::EndSession(const SessionId& session) {
  sessions_.End(session);
  for (const std::shared_ptr<Job>& job : jobs_.Active()) {
    if (job->owner.session == session && jobs_.StandingOf(*job).attached) {
      CancelJob(*job, "was cancelled: its session ended");
    }
  }
}

}  // namespace hotplate::core
