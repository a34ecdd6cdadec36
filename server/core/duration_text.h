// Durations as messages show them: "1.5s", "2h30m".
#pragma once

#include <chrono>
#include <string>

namespace hotplate::core {

std::string DurationText(std::chrono::nanoseconds duration);

}  // namespace hotplate::core
