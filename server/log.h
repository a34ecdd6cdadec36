// The daemon's log: to a file or to standard error, in UTC, with levels. Secrets never go in.
#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <cstdint>
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

// Limits the number of lines in each minute, and counts the rest.
class LineLimit {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLines = 10;
  static constexpr std::chrono::minutes kSpan{1};

  struct Verdict {
    bool shown = false;
    bool last = false;         // none more until the minute is over
    std::uint64_t missed = 0;  // were not shown since the last one that was
  };
  Verdict Take(Clock::time_point now);

 private:
  Clock::time_point begin_;
  int lines_ = 0;
  std::uint64_t missed_ = 0;
};

// gRPC's own lines go there too from now on, at their own levels, cut and without secrets, instead of to standard
// error; of its errors no more than LineLimit allows. For the process as a whole: makes it spdlog's default logger.
void RouteGrpcLog(std::shared_ptr<spdlog::logger> log);

// One visible line, with "[...]" for each run of 32 or more hexadecimal digits, the form of tokens and session ids.
std::string WithoutSecrets(std::string_view text);

// At most so many bytes, and no part of a secret at the end that is too short for WithoutSecrets to know it.
std::string_view Beginning(std::string_view text, std::size_t most);

}  // namespace hotplate::server
