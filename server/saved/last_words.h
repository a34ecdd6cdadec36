// A daemon's words on its end: when it may come, and what is lost with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/config.h"
#include "server/core/engine.h"
#include "server/saved/saved_arrays.h"

namespace hotplate::server {

// The consequence of not using the daemon.
std::string WhenUnused(const Config& config);

// The first names, as a list for people.
std::string Listed(const std::vector<std::string>& names);

// Lists the daemon's losses on one line, for later readers; empty: none. Takes locks. At its end: cancelled jobs among
// `active` (the jobs when it began to drain), arrays that were not saved, and unfetched results.
std::string WhatIsDropped(core::Engine& engine, const SavedArrays& saved, const std::vector<core::JobId>& active);
// Lists the saved arrays, their place, and how to bring one back; empty: none.
std::string WhatIsSaved(const SavedArrays& saved);
// What the journal has for the next daemon of that name: jobs that have not ended, and unfetched results; empty: none.
std::string WhatGoesOn(core::Engine& engine, const std::string& name);
// The losses if it died now: jobs that run or wait, all arrays, and unfetched results.
std::string WhatWouldGo(core::Engine& engine);
// The losses if it were told to end: the same, without the arrays that it would save. It saves the smallest first, as
// far as `room` bytes last; nothing: the room is unknown.
std::string WhatIsAtStake(core::Engine& engine, std::optional<std::uint64_t> room);

// The jobs that run or wait.
std::vector<core::JobId> ActiveJobs(core::Engine& engine);

}  // namespace hotplate::server
