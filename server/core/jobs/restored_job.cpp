#include "server/core/jobs/restored_job.h"

#include <utility>

#include "server/core/jobs/make_job.h"
#include "server/core/jobs/spec_by_name.h"

namespace hotplate::core {
namespace {

std::ptrdiff_t LastPending(const std::vector<StateChange>& changes) {
  auto at = static_cast<std::ptrdiff_t>(changes.size()) - 1;
  while (at > 0 && changes[static_cast<std::size_t>(at)].state != JobState::kPending) --at;
  return at;
}

}  // namespace

std::shared_ptr<Job> MakeRestored(const RestoredJob& restored, BoundJob bound, std::uint64_t inline_bytes) {
  // This daemon may not have the kernel.
  if (bound.spec == nullptr) bound.spec = SpecByName(restored.request.kernel);
  std::shared_ptr<Job> job =
      MakeJob(restored.owner, restored.request, std::move(bound), restored.request_key, inline_bytes);
  job->sequence = restored.number;
  job->depends_on = restored.depends_on;
  // The journal has its end, so that it may make room for new jobs.
  if (restored.end != nullptr) job->promised = job->keeps_request = false;
  job->earlier.assign(restored.changes.begin(), restored.changes.begin() + LastPending(restored.changes));
  return job;
}

std::vector<JobEvent> EventsOf(const RestoredJob& restored, const Clock& clock) {
  const WallTime wall_now = clock.WallNow();
  const SteadyTime now = clock.Now();
  std::vector<JobEvent> events;
  for (auto change = restored.changes.begin() + LastPending(restored.changes); change != restored.changes.end();
       ++change) {
    JobEvent event{.time = change->time, .at = now - (wall_now - change->time), .device = change->device};
    if (IsEnd(change->state)) {
      event.kind = EndingIn(change->state);
      event.end = restored.end;
      // It is kept for its whole time, from now on, for whoever has yet to come for it.
      if (!restored.fetched) event.at = now;
    } else {
      event.kind = events.empty() ? JobEvent::Kind::kSubmitted : JobEvent::Kind::kStarted;
    }
    events.push_back(std::move(event));
  }
  if (restored.fetched) events.push_back({.kind = JobEvent::Kind::kFetched, .time = wall_now, .at = now});
  return events;
}

}  // namespace hotplate::core
