// Deletes what jobs have left in a spool, by the daemon or without one.
#pragma once

#include "absl/status/statusor.h"
#include "client/cli/command.h"
#include "client/cli/journals/journals.h"
#include "server/journal/prune.h"

namespace hotplate::cli {

// Of jobs that ended at least `age` ago, and whose results were fetched. The daemon of that name does it, if there is
// one; else this program, to which the journals belong meanwhile.
absl::StatusOr<journal::PruneReport> PruneJournals(const Invocation& call,
                                                   const std::vector<journal::Place>& of_one_name, nanoseconds age);

}  // namespace hotplate::cli
