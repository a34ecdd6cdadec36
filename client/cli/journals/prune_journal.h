// Deletes what jobs have left in a spool, by the daemon or without one.
#pragma once

#include "absl/status/status.h"
#include "client/cli/command.h"
#include "client/cli/journals/journals.h"
#include "server/journal/prune.h"

namespace hotplate::cli {

// For jobs that ended at least `age` ago and whose results were fetched. The daemon of that name does it, if there is
// one; else this program, which holds the journals for a moment at a time. Adds what was done to `sum`, also if it
// fails in the end.
absl::Status PruneJournals(const Invocation& call, const std::vector<journal::Place>& of_one_name, nanoseconds age,
                           journal::PruneReport& sum);

}  // namespace hotplate::cli
