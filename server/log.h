// The daemon's log: to a file or to standard error, in UTC, with levels. Secrets never go in.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace hotplate::server {

// PERMISSION_DENIED or NOT_FOUND, naming the file, if it cannot be written.
absl::StatusOr<std::shared_ptr<spdlog::logger>> OpenLog(const std::string& file, const std::string& level);

}  // namespace hotplate::server
