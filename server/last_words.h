// What a daemon says of its end: when that may come, and then of what it held.
#pragma once

#include <string>
#include <vector>

#include "server/config.h"
#include "server/core/engine.h"
#include "server/saved_arrays.h"

namespace hotplate::server {

// What comes of not using it.
std::string WhenUnused(const Config& config);

// The first of them, as a list for people.
std::string Listed(const std::vector<std::string>& names);

// Arrays that were not saved, and results that nobody fetched, on one line for whoever looks for them later; empty:
// there are none. Takes locks.
std::string WhatIsDropped(core::Engine& engine, const SavedArrays& saved);

}  // namespace hotplate::server
