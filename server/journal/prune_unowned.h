// Journals that no daemon has, because its name has not been taken again. Whoever calls this keeps daemons of that name
// from starting meanwhile, but for LookAt.
#pragma once

#include "absl/status/statusor.h"
#include "server/journal/places.h"
#include "server/journal/prune.h"
#include "server/journal/records.h"

namespace hotplate::journal {

struct Leftovers {
  bool due = false;    // a pass of Prune would find something to do
  bool empty = false;  // it has no jobs, sums or arrays
  WallTime seen = {};  // when it was last written to, about
};
// Reads a copy. NOT_FOUND if there is no journal. `bounds.age` becomes what the journal's own daemon had.
absl::StatusOr<Leftovers> LookAt(const Place& place, PruneBounds& bounds);

// One pass, which holds the journal as `self`. Nothing is released whose files cannot be deleted from here:
// FAILED_PRECONDITION then, and if a daemon has the journal.
absl::StatusOr<PruneReport> PruneUnowned(const Place& place, DaemonLife self, const PruneBounds& bounds);

// Removes the folder of an empty one, and its spool.
absl::Status RemoveEmpty(const Place& place, DaemonLife self);

}  // namespace hotplate::journal
