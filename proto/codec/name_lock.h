// The lock by which a daemon holds its name: a file in HOTPLATE_DIR, whose lock ends with its process, on any node.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace hotplate::codec {

std::string NameLockFile(const std::string& directory, const std::string& name);

// The second line of the file while somebody prunes the journal of that name, which takes moments (HoldName).
inline constexpr char kPrunes[] = "prunes";

// Whether no daemon has this name, or is starting or ending with it. False if unknown.
bool IsNameFree(const std::string& directory, const std::string& name);

// Holds the name as a daemon does, so that none starts with it meanwhile: a descriptor, until it is closed; -1 where
// there is nothing to hold (no folder, or a file system without locks). FAILED_PRECONDITION: a daemon has the name.
absl::StatusOr<int> HoldName(const std::string& directory, const std::string& name);

}  // namespace hotplate::codec
