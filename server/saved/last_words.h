// What a daemon says of its end: when that may come, and then of what it held.
#pragma once

#include <string>
#include <vector>

#include "server/config.h"
#include "server/core/engine.h"
#include "server/saved/saved_arrays.h"

namespace hotplate::server {

// What comes of not using it.
std::string WhenUnused(const Config& config);

// The first of them, as a list for people.
std::string Listed(const std::vector<std::string>& names);

// Lists what goes with a daemon, in words on one line for whoever looks for it later; empty: nothing. Takes locks.
// At its end: those of the jobs `active`, which it had when it began to drain, that were cancelled, arrays that were
// not saved, and results that nobody fetched.
std::string WhatIsDropped(core::Engine& engine, const SavedArrays& saved, const std::vector<core::JobId>& active);
// Says which arrays were saved, where, and how to bring one back; empty: none.
std::string WhatIsSaved(const SavedArrays& saved);
// If it died now: jobs that run or wait, all arrays, those results.
std::string WhatWouldGo(core::Engine& engine);
// If it were told to end: the same, without the arrays that it would save.
std::string WhatIsAtStake(core::Engine& engine);

// The jobs that run or wait.
std::vector<core::JobId> ActiveJobs(core::Engine& engine);

}  // namespace hotplate::server
