#include "server/core/jobs/job_event.h"

#include "absl/strings/str_cat.h"
#include "kernels/status.h"

namespace hotplate::core {

absl::StatusOr<JobState> Apply(JobState state, JobTransition transition) {
  if (state == JobState::kPending) {
    switch (transition) {
      case JobTransition::kStart:
        return JobState::kRunning;
      case JobTransition::kCancel:
        return JobState::kCancelled;
      case JobTransition::kFail:
        return JobState::kFailed;
      case JobTransition::kComplete:
      case JobTransition::kExpire:
        break;
    }
  }
  if (state == JobState::kRunning) {
    switch (transition) {
      case JobTransition::kComplete:
        return JobState::kCompleted;
      case JobTransition::kFail:
        return JobState::kFailed;
      case JobTransition::kCancel:
        return JobState::kCancelled;
      case JobTransition::kExpire:
        return JobState::kTimeout;
      case JobTransition::kStart:
        break;
    }
  }
  return absl::FailedPreconditionError(
      absl::StrCat("a job that is ", ToAbsl(Name(state)), " has no transition \"", ToAbsl(Name(transition)), "\""));
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

std::string_view Name(JobTransition transition) {
  switch (transition) {
    case JobTransition::kStart:
      return "start";
    case JobTransition::kComplete:
      return "complete";
    case JobTransition::kFail:
      return "fail";
    case JobTransition::kCancel:
      return "cancel";
    case JobTransition::kExpire:
      return "expire";
  }
  return "?";
}

}  // namespace hotplate::core
