// What a shared object's own headers say of it, read before it is opened: dlopen maps a file that was cut short, and
// the process dies of SIGBUS.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate {

struct ElfFile {
  std::vector<std::string> needed;  // DT_NEEDED, in the file's order
  std::string soname;               // DT_SONAME; empty if there is none
};

// FAILED_PRECONDITION and what is wrong, without the file's name: not a shared object for this machine, or cut short.
absl::StatusOr<ElfFile> ReadElfFile(const std::string& path);

}  // namespace hotplate
