// How often the daemon tries to reopen a device that was lost.
#pragma once

#include <algorithm>
#include <chrono>

#include "server/core/types.h"

namespace hotplate::core {

struct ReopenOptions {
  nanoseconds first_pause = std::chrono::seconds(1);
  nanoseconds longest_pause = std::chrono::minutes(1);
};

// Before the next try, when there were `tries`: twice as long each time, up to a bound. A device that works for the
// longest pause begins anew, so one that each job breaks does not keep the daemon busy.
inline nanoseconds PauseBefore(unsigned tries, const ReopenOptions& options) {
  nanoseconds pause = std::min(options.first_pause, options.longest_pause);
  for (unsigned i = 0; i < tries && pause < options.longest_pause; ++i) {
    pause = pause > options.longest_pause / 2 ? options.longest_pause : 2 * pause;
  }
  return pause;
}

}  // namespace hotplate::core
