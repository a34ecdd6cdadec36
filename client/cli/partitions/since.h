// The value of --since: how far back, or from when.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/scheduler/scheduler.h"

namespace hotplate::cli {

inline constexpr EpochSeconds kDefaultSince = EpochSeconds{7} * 24 * 3600;
inline constexpr EpochSeconds kLongestSince = EpochSeconds{366} * 24 * 3600;

// "7d", "2w", "36h", "90m", or a date "2026-11-01", "2026-11-01T08:00[:00]" of the local calendar. A usage error for
// anything else, for the future, and for more than a year.
absl::StatusOr<EpochSeconds> ParseSince(const std::string& text, EpochSeconds now);

}  // namespace hotplate::cli
