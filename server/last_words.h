// What a daemon says of its end: when that may come, and then of what it held.
#pragma once

#include <string>
#include <vector>

#include "hotplate/v1/daemon_end.pb.h"
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

// What became of all arrays, and of results: all but name, generation, time and reason. Takes locks.
v1::DaemonEnd WhatBecame(core::Engine& engine, const SavedArrays& saved);

// Puts the words at their place in the directory, where the client looks for them; those that are older than a month
// go. May wait for the file system. Returns why that could not be, or nothing.
std::string WriteEnd(const std::string& directory, const v1::DaemonEnd& end);

}  // namespace hotplate::server
