// How the run of a job went, before anything is made of it.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "kernels/devices/device.h"
#include "server/core/types.h"

namespace hotplate::core {

struct RunResult {
  enum class Kind { kCompleted, kCancelled, kFailed, kDeviceLost };
  Kind kind = Kind::kCompleted;
  absl::Status error;                   // unless kCompleted or kCancelled
  Report report;                        // as far as it got
  std::vector<JobOutputValue> outputs;  // with data, not yet arrays; kCompleted only
  std::optional<nanoseconds> load;      // reading inputs that came by path or lay on another device
  std::optional<nanoseconds> store;     // writing outputs that go by path, also where that failed
  std::optional<ProcessUse> process;    // of work outside
};

}  // namespace hotplate::core
