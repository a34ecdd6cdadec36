// Why no daemon answers, as far as its allocation tells: it waits in the queue, it starts, it is over.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "client/cli/allocation/notes.h"
#include "client/cli/command.h"

namespace hotplate::cli {

struct FoundAllocation {
  AllocationNote note;               // with the end, where the scheduler told it just now
  absl::StatusOr<JobStatus> status;  // not asked for where the note says that it is over
  bool has_record = false;           // a daemon of it has been ready, and has not taken its record away
  // The job runs on without the daemon that was attached to it, or that was to be.
  bool daemon_ended = false;
};

// The allocation that the settings lead to, by the client's notes or else by the record of a daemon that Slurm started
// in another way; the scheduler is asked. Nothing where there is neither. One that turns out to be over does not hide
// another that is not, unless it was asked for by name.
std::optional<FoundAllocation> LookForAllocation(const Invocation& call);

// That of the daemon which this command was connected to last (`call.connected`), whether its record is still there or
// not. Nothing where Slurm did not start it.
std::optional<FoundAllocation> LookForLost(const Invocation& call);

// For one who has lost a daemon, and waits for its next start, with long pauses between two looks at the allocation.
class NextStart {
 public:
  // Whether it is still to be expected. Of a job that waits for its turn always; of one that has just left the queue,
  // or is about to be put into it, once more: its daemon may not have published itself yet.
  bool Expected(const std::optional<FoundAllocation>& found);

 private:
  bool waited_ = false;     // it was seen to wait for its turn
  bool once_more_ = false;  // since then
};

// Whether the daemon that was attached to this job, which is in that state, is no more; or never came.
bool AttachedDaemonHasEnded(const std::string& directory, const AllocationNote& note, const JobStatus& status);
// What is said then; the note goes.
absl::Status AttachedDaemonEnded(const Invocation& call, const AllocationNote& note, const JobStatus& status);

// Of a daemon that has published itself in a job that is in this state, and does not answer here: `why`. With how to
// get to it all the same.
absl::Status CannotBeReached(Settings settings, const AllocationNote& note, const JobStatus& status,
                             const absl::Status& why);

// `status` of a connection that failed, with what is known of the allocation in place of guesses, and what to do next.
absl::Status WhyNoDaemon(const Invocation& call, const absl::Status& status);

// `status` of a connection that was there (to the daemon of `call.connected`) and broke, with what became of the job
// that the daemon ran in: requeued, started anew, over. As it is where no scheduler started that daemon.
absl::Status WhyLost(const Invocation& call, const absl::Status& status);

}  // namespace hotplate::cli
