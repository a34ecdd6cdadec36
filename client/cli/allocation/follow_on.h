// `up --follow-on N`: N more jobs that go on under a daemon's name, each when all before it have ended. The note has
// their ids; it moves on to the next one when its job is found to be over.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/allocation/notes.h"
#include "client/cli/arguments.h"
#include "client/cli/sites/site.h"

namespace hotplate::cli {

// The N of --follow-on; 0 without it.
absl::StatusOr<int> FollowOnOption(const Arguments& arguments);
// Before anything is submitted.
absl::Status CheckFollowOn(const Site& site, const AllocationRequest& request, int count, Scheduler& scheduler);
// Submits them after the note's job, and notes each. An error says what there is then.
absl::Status SubmitFollowOn(const std::string& directory, const Site& site, AllocationPlan plan, const Launch& launch,
                            int count, Scheduler& scheduler, AllocationNote& note);

// The note of the job that follows on the note's; nothing without one.
std::optional<AllocationNote> NextOf(const std::string& directory, const AllocationNote& note);
// The note when its daemon runs in this job, which may be one that follows on; unchanged if it is none of them.
AllocationNote AtJob(const std::string& directory, AllocationNote note, const std::string& job);

// Whether the daemon of this job is one of the note's: those before, now or later under its name.
bool HasJob(const AllocationNote& note, const std::string& job);
// Cancels the jobs that follow on, the last one first, and notes that there are none.
absl::Status CancelFollowOn(const std::string& directory, Scheduler& scheduler, AllocationNote& note);

}  // namespace hotplate::cli
