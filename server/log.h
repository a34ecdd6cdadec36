// The daemon's log: to a file or to standard error, in UTC, with levels. Secrets never go in.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/core/engine.h"

namespace hotplate::server {

// The core's levels, which are fewer.
spdlog::level::level_enum LevelOf(core::LogLevel level);
core::LogLevel LevelOf(spdlog::level::level_enum level);

// PERMISSION_DENIED or NOT_FOUND, naming the file, if it cannot be written.
absl::StatusOr<std::shared_ptr<spdlog::logger>> OpenLog(const std::string& file, const std::string& level);

// gRPC's own lines go there too from now on, at their own levels and without secrets, instead of to standard error.
// For the process as a whole: makes it spdlog's default logger.
void RouteGrpcLog(std::shared_ptr<spdlog::logger> log);

// One line, with "[...]" for each run of 32 or more hexadecimal digits: what tokens and session ids look like.
std::string WithoutSecrets(std::string_view text);

}  // namespace hotplate::server
