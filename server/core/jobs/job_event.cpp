#include "server/core/jobs/job_event.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"

namespace hotplate::core {
namespace {

using Kind = JobEvent::Kind;

bool Allowed(const JobRecord& record, const JobEvent& event) {
  const bool is_new = record.change_count == 0;
  const bool pending = !is_new && record.state == JobState::kPending;
  const bool running = record.state == JobState::kRunning;
  const auto ends_in = [&](JobState state) { return event.end != nullptr && event.end->state == state; };
  switch (event.kind) {
    case Kind::kSubmitted:
      return is_new;
    case Kind::kStarted:
      return pending;
    case Kind::kCompleted:
      return running && ends_in(JobState::kCompleted);
    case Kind::kFailed:
      return (pending || running) && ends_in(JobState::kFailed);
    case Kind::kCancelled:
      return (pending || running) && ends_in(JobState::kCancelled);
    case Kind::kTimedOut:
      return running && ends_in(JobState::kTimeout);
    case Kind::kTimeLimitReached:
      return running;
    case Kind::kCancelRequested:
      return (pending || running) && !record.cancel_requested;
    case Kind::kClientLost:
    case Kind::kClientBack:
    case Kind::kDetached:
      return (pending || running) && record.attached;
    case Kind::kFetched:
      return IsEnd(record.state);
    case Kind::kOutputsReleased:
    case Kind::kOutputsLoaded:
      return IsEnd(record.state) && ends_in(record.state);
  }
  return false;
}

void Change(JobRecord& record, std::size_t earlier, JobState state, const JobEvent& event) {
  const std::string& device = record.change_count > 1 ? record.changes[1].device : event.device;
  record.state = state;
  record.changes[record.change_count] = {
      .sequence = earlier + record.change_count + 1, .state = state, .time = event.time, .device = device};
  ++record.change_count;
}

}  // namespace

absl::Status Apply(Job& job, const JobEvent& event) {
  JobRecord& record = job.record_;
  if (!Allowed(record, event)) {
    return absl::FailedPreconditionError(absl::StrCat("a job that is ",
                                                      record.change_count == 0 ? "new" : ToAbsl(Name(record.state)),
                                                      " cannot take the event \"", ToAbsl(Name(event.kind)), "\""));
  }
  const auto change = [&](JobState state) { Change(record, job.earlier.size(), state, event); };
  switch (event.kind) {
    case Kind::kSubmitted:
      record.attached = event.attached;
      change(JobState::kPending);
      break;
    case Kind::kStarted:
      record.start_time = event.at;
      change(JobState::kRunning);
      break;
    case Kind::kCompleted:
    case Kind::kFailed:
    case Kind::kCancelled:
    case Kind::kTimedOut:
      record.end_time = event.at;
      record.end = event.end;
      record.owned_arrays = event.owned_arrays;
      change(event.end->state);
      break;
    case Kind::kCancelRequested:
      record.cancel_requested = true;
      record.cancel_reason = event.reason;
      break;
    case Kind::kTimeLimitReached:
      record.time_limit_reached = true;
      break;
    case Kind::kClientLost:
      record.grace_end = event.grace_end;
      break;
    case Kind::kClientBack:
      record.grace_end.reset();
      break;
    case Kind::kDetached:
      record.attached = false;
      break;
    case Kind::kFetched:
      record.fetched = true;
      break;
    case Kind::kOutputsReleased:
      record.end = event.end;
      break;
    case Kind::kOutputsLoaded:
      record.end = event.end;
      record.owned_arrays = event.owned_arrays;
      break;
  }
  return absl::OkStatus();
}

JobEvent::Kind EndingIn(JobState state) {
  switch (state) {
    case JobState::kCompleted:
      return Kind::kCompleted;
    case JobState::kCancelled:
      return Kind::kCancelled;
    case JobState::kTimeout:
      return Kind::kTimedOut;
    default:
      return Kind::kFailed;
  }
}

std::string_view Name(JobState state) {
  switch (state) {
    case JobState::kPending:
      return "PENDING";
    case JobState::kRunning:
      return "RUNNING";
    case JobState::kCompleted:
      return "COMPLETED";
    case JobState::kFailed:
      return "FAILED";
    case JobState::kCancelled:
      return "CANCELLED";
    case JobState::kTimeout:
      return "TIMEOUT";
  }
  return "?";
}

std::string_view Name(JobEvent::Kind event) {
  switch (event) {
    case Kind::kSubmitted:
      return "submitted";
    case Kind::kStarted:
      return "started";
    case Kind::kCompleted:
      return "completed";
    case Kind::kFailed:
      return "failed";
    case Kind::kCancelled:
      return "cancelled";
    case Kind::kTimedOut:
      return "timed out";
    case Kind::kCancelRequested:
      return "cancel requested";
    case Kind::kTimeLimitReached:
      return "time limit reached";
    case Kind::kClientLost:
      return "client lost";
    case Kind::kClientBack:
      return "client back";
    case Kind::kDetached:
      return "detached";
    case Kind::kFetched:
      return "fetched";
    case Kind::kOutputsReleased:
      return "outputs released";
    case Kind::kOutputsLoaded:
      return "outputs loaded";
  }
  return "?";
}

}  // namespace hotplate::core
