// Folders and files below HOTPLATE_DIR that this program makes: for its user alone.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace hotplate::cli {

// With its parents, as far as they are missing; one that is there stays as it is. The error says why not, and to choose
// another HOTPLATE_DIR.
absl::Status MakePrivateFolder(const std::string& path);

// What is in a file that only this user can have written, if that is not longer; else nothing.
std::optional<std::string> ReadPrivateFile(const std::string& path, std::size_t longest);

// In place of what is there; whole or not at all, also where several programs write it at once. The error says why not.
absl::Status WritePrivateFile(const std::string& path, const std::string& text);

}  // namespace hotplate::cli
