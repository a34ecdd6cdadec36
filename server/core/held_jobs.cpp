#include "server/core/held_jobs.h"

#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/jobs/job_refs.h"

namespace hotplate::core {

absl::StatusOr<HeldJobs::Prepared> HeldJobs::Prepare(const Principal& who, JobRequest& request, bool restored) {
  Prepared prepared;
  if (!RefsOf(request).empty()) {
    const std::vector<JobInput> inputs = request.inputs;
    bool never = false;
    absl::StatusOr<Dependencies::Lookup> lookup = dependencies_.LookUp(who, request, restored, &never);
    if (!lookup.ok()) {
      if (never) dependencies_.Leave(who, request.request_id, inputs);
      return lookup.status();
    }
    // The place of work that is no kernel depends on its inputs, too.
    const bool later = !lookup->unknown.empty() || (request.work != nullptr && !lookup->wanted.empty());
    if (lookup->waits) prepared.held.emplace().wanted = std::move(lookup->wanted);
    prepared.lookup = *std::move(lookup);
    if (later) {
      absl::StatusOr<SharedSpec> spec = parts_.binder.PrepareUnbound(who, request);
      if (!spec.ok()) return spec.status();
      prepared.bound.spec = *std::move(spec);
      prepared.held->request = request;
      return prepared;
    }
  }
  absl::StatusOr<BoundJob> bound =
      parts_.binder.Bind(who, request, Binder::Data::kRequired, parts_.scheduler.LostDevices());
  if (!bound.ok()) return bound.status();
  prepared.bound = *std::move(bound);
  return prepared;
}

absl::Status HeldJobs::FillIn(const Principal& who, JobRequest& request) {
  if (RefsOf(request).empty()) return absl::OkStatus();
  const absl::StatusOr<Dependencies::Lookup> lookup = dependencies_.LookUp(who, request);
  if (!lookup.ok() || lookup->unknown.empty()) return lookup.status();
  return absl::FailedPreconditionError(
      absl::StrCat("the shape of ", lookup->unknown, ", is not known before that job has ended; check this one then"));
}

bool HeldJobs::Accept(const std::shared_ptr<Job>& job, Prepared& prepared, bool acknowledged) {
  if (!prepared.lookup.taken.empty()) dependencies_.CountTaken(prepared.lookup);
  if (!prepared.held) return false;
  prepared.held->job = job;
  prepared.held->acknowledged = acknowledged;
  if (std::optional<Dependencies::Held> over = dependencies_.Hold(*std::move(prepared.held))) Release(*std::move(over));
  return true;
}

bool HeldJobs::Acknowledge(const Job& job) {
  std::optional<Dependencies::Held> over;
  const bool held = dependencies_.Acknowledge(job, over);
  if (over) Release(*std::move(over));
  return held;
}

void HeldJobs::Follow(Job& ended) {
  // One that is released may end at once, and so come here again: those that wait for it are left to the loop below,
  // since a chain may have any length.
  thread_local std::deque<Dependencies::Held>* backlog = nullptr;
  std::vector<Dependencies::Held> over = dependencies_.Ended(ended);
  if (over.empty()) return;
  std::deque<Dependencies::Held> own;
  const bool outermost = backlog == nullptr;
  if (outermost) backlog = &own;
  for (Dependencies::Held& held : over) backlog->push_back(std::move(held));
  if (!outermost) return;
  while (!own.empty()) {
    Dependencies::Held held = std::move(own.front());
    own.pop_front();
    Release(std::move(held));
  }
  backlog = nullptr;
}

void HeldJobs::End(Job& job, JobState state, absl::Status error) {
  // Somebody may have asked for it since it was taken out of the queue's places.
  const Jobs::Standing standing = parts_.jobs.StandingOf(job);
  if (standing.cancel_requested) {
    state = JobState::kCancelled;
    error = absl::CancelledError(absl::StrCat("job ", job.id.value(), " ", standing.cancel_reason));
  }
  parts_.jobs.End(job, {.state = state, .error = std::move(error), .outputs = {}, .receipt = std::nullopt});
}

void HeldJobs::Release(Dependencies::Held held) {
  Job& job = *held.job;
  // Else it was cancelled, or is left to the next daemon.
  if (!parts_.scheduler.Remove(job)) return;
  if (held.failed_as == JobState::kCancelled) {
    return End(
        job, JobState::kCancelled,
        absl::CancelledError(absl::StrCat("job ", job.id.value(), " depends on one that was cancelled: ", held.cause)));
  }
  if (held.failed_as != JobState::kCompleted) {
    return End(job, JobState::kFailed,
               absl::FailedPreconditionError(absl::StrCat("it depends on a job that did not complete: ", held.cause)));
  }
  absl::Status error = Complete(held);
  if (error.ok()) error = parts_.scheduler.Admit(job, Scheduler::Limit::kPassed);
  if (!error.ok()) return End(job, JobState::kFailed, std::move(error));
  job.held_for.store((parts_.clock.Now() - job.submit_time).count());
  parts_.queue(job);
}

absl::Status HeldJobs::Complete(Dependencies::Held& held) {
  Job& job = *held.job;
  if (held.request) {
    for (JobInput& input : held.request->inputs) {
      const auto taken = held.taken.find(input.name);
      if (taken == held.taken.end()) continue;
      input.signature = std::move(taken->second.signature);
      input.source = std::move(taken->second.source);
    }
    absl::StatusOr<BoundJob> bound =
        parts_.binder.Bind(job.owner, *held.request, Binder::Data::kRequired, parts_.scheduler.LostDevices());
    if (!bound.ok()) return bound.status();
    job.kind = parts_.history.KindOf(*bound, job.work.get(), job.label);
    parts_.jobs.Bind(job, *std::move(bound));
    return parts_.log != nullptr && job.durable ? parts_.log->Reserve(job) : absl::OkStatus();
  }
  const BoundCall& call = job.bound.call;
  for (std::size_t i = 0; i < job.bound.inputs.size(); ++i) {
    BoundInput& input = job.bound.inputs[i];
    if (!input.pending) continue;
    const std::string& name = call.spec->inputs()[i].name;
    Dependencies::Taken& taken = held.taken.at(name);
    if (taken.signature != call.inputs[i]) {
      return absl::InternalError(absl::StrCat(name, " was to be ", hotplate::ToString(call.inputs[i]),
                                              ", and its job made ", hotplate::ToString(taken.signature)));
    }
    if (auto* buffer = std::get_if<std::shared_ptr<const HostBuffer>>(&taken.source)) input.buffer = std::move(*buffer);
    if (auto* stored = std::get_if<StoredArray>(&taken.source)) input.stored = std::move(stored->path);
  }
  return absl::OkStatus();
}

}  // namespace hotplate::core
