// Folders below HOTPLATE_DIR that this program makes: for its user alone.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace hotplate::cli {

// With its parents, as far as they are missing; one that is there stays as it is. The error says why not, and to choose
// another HOTPLATE_DIR.
absl::Status MakePrivateFolder(const std::string& path);

}  // namespace hotplate::cli
