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

// The content of a file that only this user can have written, if it is no longer than `longest`; else nothing.
std::optional<std::string> ReadPrivateFile(const std::string& path, std::size_t longest);

// Replaces the file, whole or not at all, even if several programs write at once. The error gives the reason.
absl::Status WritePrivateFile(const std::string& path, const std::string& text);

}  // namespace hotplate::cli
