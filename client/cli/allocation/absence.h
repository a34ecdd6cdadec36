// Why no daemon answers, as far as its allocation tells: it waits in the queue, it starts, it is over.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "client/cli/allocation/notes.h"
#include "client/cli/command.h"

namespace hotplate::cli {

struct FoundAllocation {
  AllocationNote note;               // with its end, if the scheduler has just told it
  absl::StatusOr<JobStatus> status;  // not asked for if the note says that the job is over
  bool has_record = false;           // a daemon of it was ready and has not removed its record
  // The job runs on without the daemon that was attached to it, or was to be.
  bool daemon_ended = false;
};

// The allocation that the settings lead to, by the client's notes or else by the record of a daemon that Slurm started
// in another way; asks the scheduler. Nothing if there is neither. An allocation that is over does not hide one that is
// not, unless it was asked for by name.
std::optional<FoundAllocation> LookForAllocation(const Invocation& call);

// The allocation of the daemon that this command was last connected to (`call.connected`), with or without its record.
// Nothing if Slurm did not start that daemon.
std::optional<FoundAllocation> LookForLost(const Invocation& call);

// Decides whether to go on waiting for the next start of a lost daemon. Looks at the allocation with long pauses.
class NextStart {
 public:
  // Whether another start is to be expected. Always while the job waits in the queue. Once more if it has just left the
  // queue or is about to enter it: its daemon may not have published its record yet.
  bool Expected(const std::optional<FoundAllocation>& found);

 private:
  bool waited_ = false;     // it was seen waiting in the queue
  bool once_more_ = false;  // since then
};

// Whether the daemon attached to this job has ended, or never came. `status` is the job's.
bool AttachedDaemonHasEnded(const std::string& directory, const AllocationNote& note, const JobStatus& status);
// The error for that case. Removes the note.
absl::Status AttachedDaemonEnded(const Invocation& call, const AllocationNote& note, const JobStatus& status);

// The error for a daemon whose record is there but which does not answer here; `why` is the connection's error and
// `status` the job's. Says how to reach it.
absl::Status CannotBeReached(Settings settings, const AllocationNote& note, const JobStatus& status,
                             const absl::Status& why);

// `status` of a failed connection, with facts about the allocation in place of guesses, and the next step.
absl::Status WhyNoDaemon(const Invocation& call, const absl::Status& status);

// `status` of a broken connection to the daemon of `call.connected`, with the fate of its job: requeued, restarted, or
// over. Unchanged if no scheduler started that daemon.
absl::Status WhyLost(const Invocation& call, const absl::Status& status);

}  // namespace hotplate::cli
