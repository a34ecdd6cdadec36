#include "server/core/duration_text.h"

#include "absl/time/time.h"

namespace hotplate::core {

std::string DurationText(std::chrono::nanoseconds duration) { return absl::FormatDuration(absl::FromChrono(duration)); }

}  // namespace hotplate::core
