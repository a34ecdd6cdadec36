// The space that a user may still use on a file system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hotplate::server {

// Bytes that are free where `folder` is: on the disk, and of the user's quota and group's as far as the system tells
// them (network file systems often do not, or count the quota as the disk's). Nothing where nothing is told. May wait
// for the file system.
std::optional<std::uint64_t> FreeSpace(const std::string& folder);

// Whether the folder is on a disk of this machine, or in its memory, as far as the system tells.
bool IsOfOneMachine(const std::string& folder);

}  // namespace hotplate::server
