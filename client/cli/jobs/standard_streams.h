// Standard input and output as .npy files: "-" in the place of a file's name.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "kernels/array/npy.h"

namespace hotplate::cli {

inline constexpr char kStandardStream[] = "-";

// The file at `path`, or standard input for "-". A pipe is first read to its end into an unnamed file below TMPDIR or
// /tmp, so that it can be read again after a broken connection and need not fit into memory.
std::variant<NpyFile, NpyError> OpenInput(const std::string& path);

// A new file that disappears when it is closed; -1, and errno, on failure.
int NamelessFile(const std::string& folder);

// Why no array can be written to standard output, or OK.
absl::Status CheckStandardOutput();
std::optional<NpyError> WriteStandardOutput(std::span<const std::byte> bytes);

}  // namespace hotplate::cli
