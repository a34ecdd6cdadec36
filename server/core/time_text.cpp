#include "server/core/time_text.h"

#include "absl/time/time.h"

namespace hotplate::core {

std::string DurationText(nanoseconds duration) { return absl::FormatDuration(absl::FromChrono(duration)); }

std::string UtcText(WallTime time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromChrono(time), absl::UTCTimeZone());
}

}  // namespace hotplate::core
