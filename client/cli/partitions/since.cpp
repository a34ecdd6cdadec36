#include "client/cli/partitions/since.h"

#include <chrono>
#include <ctime>
#include <optional>

#include "client/cli/ending.h"
#include "client/cli/terminal/format.h"
#include "kernels/array/quoted.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

std::optional<EpochSeconds> Date(const std::string& text) {
  for (const char* format : {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"}) {
    std::tm time{};
    const char* rest = strptime(text.c_str(), format, &time);
    if (rest == nullptr || *rest != '\0') continue;
    const int day = time.tm_mday;
    time.tm_isdst = -1;
    const std::time_t local = std::mktime(&time);
    // mktime takes the 31st of February for a day of March.
    return local > 0 && time.tm_mday == day ? std::optional<EpochSeconds>(local) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<EpochSeconds> ParseSince(const std::string& text, EpochSeconds now) {
  const auto back = ParseDuration(text, std::chrono::seconds(1));
  std::optional<EpochSeconds> since;
  if (back && *back >= std::chrono::seconds(1) && *back <= std::chrono::seconds(kLongestSince))
    since = now - std::chrono::floor<std::chrono::seconds>(*back).count();
  else if (!back)
    since = Date(text);
  else
    return UsageError("--since: " + Quoted(text) + " is not between a second and 366 days");
  if (!since)
    return UsageError("--since: " + Quoted(text) + " is neither a duration (36h, 7d, 2w) nor a date (2026-11-01)");
  if (*since >= now) return UsageError("--since: " + Quoted(text) + " is not in the past");
  if (now - *since > kLongestSince) return UsageError("--since: " + Quoted(text) + " is more than 366 days ago");
  return *since;
}

}  // namespace hotplate::cli
