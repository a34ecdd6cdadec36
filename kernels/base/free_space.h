// The space that a user may still use on a file system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hotplate {

// Free bytes at `folder`: on the disk, and by the user's and the group's quota, as far as the system reports them
// (network file systems often do not, or report the quota as the disk's). Nothing if unknown. May wait for the file
// system.
std::optional<std::uint64_t> FreeSpace(const std::string& folder);

// Whether the folder is on a disk of this machine, or in its memory, as far as the system tells.
bool IsOfOneMachine(const std::string& folder);

}  // namespace hotplate
