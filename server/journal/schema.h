// The tables of the index, and how an older index becomes one of today.
#pragma once

#include <SQLiteCpp/Database.h>

#include <span>

#include "absl/status/status.h"

namespace hotplate::journal {

// "HotJ": how SQLite's header says whose file it is.
inline constexpr int kApplicationId = 0x486F744A;

// Step i makes a database of version i one of version i + 1. An empty file has version 0.
using SchemaSteps = std::span<const char* const>;
SchemaSteps Steps();
inline int SchemaVersion() { return static_cast<int>(Steps().size()); }

// FAILED_PRECONDITION for a file that is no journal, or one of a newer version. Changes nothing.
absl::Status CheckOurs(SQLite::Database& database, SchemaSteps steps = Steps());
// All missing steps, or none.
absl::Status Migrate(SQLite::Database& database, SchemaSteps steps = Steps());

}  // namespace hotplate::journal
