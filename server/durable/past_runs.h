// How long the newest jobs of daemons before this one ran, as their receipts in the journal tell.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "server/core/run_history.h"
#include "server/journal/recovery.h"

namespace hotplate::server {

// Nothing: it did not complete, or its receipt does not tell. Of a program or a function only its label is known.
std::optional<core::PastRun> PastRunOf(const journal::KeptJob& kept);

// Oldest first, of the newest `limit` that have COMPLETED. Empty if the journal cannot be read.
std::vector<core::PastRun> PastRunsIn(journal::Index& index, std::size_t limit);

}  // namespace hotplate::server
