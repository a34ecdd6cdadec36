// Inputs by path: the daemon reads the file itself, below the folders it is allowed to read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/array/npy.h"

namespace hotplate::wire {

// Opens the .npy file at `path` if what is really there (links resolved) is a regular file below one of `roots`.
// INVALID_ARGUMENT, NOT_FOUND or PERMISSION_DENIED with a violation of `field`. May wait for the file system.
absl::StatusOr<std::shared_ptr<const NpyFile>> OpenPathInput(const std::string& path, const std::string& field,
                                                             const std::vector<std::string>& roots);

}  // namespace hotplate::wire
