// Copies of an index whose writer may still be at it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/journal/disk.h"

namespace hotplate::journal {

// Copies an index with its log to `to`, which is there whole or not at all. Again, where a writer changed it meanwhile;
// UNAVAILABLE where one does so each time. NOT_FOUND if there is no such index.
absl::Status CopyIndex(const std::string& from, const std::string& to, Disk& disk);

}  // namespace hotplate::journal
