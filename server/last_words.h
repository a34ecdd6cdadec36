// What a daemon that ends says of what it held.
#pragma once

#include <string>
#include <vector>

#include "server/core/engine.h"
#include "server/saved_arrays.h"

namespace hotplate::server {

// The first of them, as a list for people.
std::string Listed(const std::vector<std::string>& names);

// Arrays that were not saved, and results that nobody fetched, on one line for whoever looks for them later; empty:
// there are none. Takes locks.
std::string WhatIsDropped(core::Engine& engine, const SavedArrays& saved);

}  // namespace hotplate::server
