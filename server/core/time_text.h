// Times as messages show them.
#pragma once

#include <chrono>
#include <string>

#include "server/core/types.h"

namespace hotplate::core {

std::string DurationText(nanoseconds duration);  // "1.5s", "2h30m"
std::string UtcText(WallTime time);              // "2026-11-21 20:40:00 UTC"

}  // namespace hotplate::core
