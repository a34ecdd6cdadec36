// The events of a job. Apply is the only way to change a job's record, and pure: it reads no clock, takes no lock and
// tells nobody. What follows from an event (leaving the queue, telling observers, freeing buffers) belongs to the
// caller, after it.
//
//   (new) --submitted--> PENDING --started--> RUNNING --completed--> COMPLETED
//                           |                    |------failed-----> FAILED
//                           |------failed--------|------cancelled--> CANCELLED
//                           '------cancelled     '------timed out--> TIMEOUT
//
// The other kinds leave the state as it is: a cancel of a RUNNING job, say, is a request until its kernel has ended.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "server/core/jobs/job.h"
#include "server/core/types.h"

namespace hotplate::core {

struct JobEvent {
  enum class Kind {
    kSubmitted,         // `attached`
    kStarted,           // `device`
    kCompleted,         // `end`, `owned_arrays`
    kFailed,            // `end`
    kCancelled,         // `end`
    kTimedOut,          // `end`
    kCancelRequested,   // `reason`
    kTimeLimitReached,  // its lane is told to stop, as for a cancel
    kClientLost,        // `grace_end`
    kClientBack,
    kDetached,         // it goes on without its client
    kFetched,          // somebody has got its result
    kOutputsReleased,  // `end` without the data that its stream has got
    kOutputsLoaded,    // `end` with the outputs that a daemon before this one made, `owned_arrays`
  };

  Kind kind = Kind::kSubmitted;
  WallTime time;
  SteadyTime at;
  bool attached = false;
  std::string device = {};
  std::string reason = {};
  SteadyTime grace_end = {};
  std::shared_ptr<const JobEnd> end = nullptr;
  std::vector<ArrayId> owned_arrays = {};
};

// FAILED_PRECONDITION, naming state and event, if the job's state does not have the event; the job is unchanged then.
absl::Status Apply(Job& job, const JobEvent& event);

// The kind of event that ends a job in this state, which must be an end.
JobEvent::Kind EndingIn(JobState state);

std::string_view Name(JobState state);        // "PENDING"
std::string_view Name(JobEvent::Kind event);  // "cancel requested"

}  // namespace hotplate::core
