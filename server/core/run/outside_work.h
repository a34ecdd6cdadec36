// Work that is no kernel of the catalogue: a program in processes of its own. To the core it is a job like any other,
// without inputs and outputs: it waits for a lane of a device, has it while it runs, and ends with a receipt.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "kernels/devices/device.h"
#include "server/core/types.h"

namespace hotplate::core {

struct OutsideEnd {
  enum class Kind { kCompleted, kCancelled, kFailed };
  Kind kind = Kind::kCompleted;
  absl::Status error;  // of kFailed
  nanoseconds ran{};
  std::optional<ProcessUse> use;  // none if it was not started
};

class OutsideWork {
 public:
  virtual ~OutsideWork() = default;
  // Once, on a lane's thread. Returns when the work is over, and soon after `control` asks for a cancel.
  virtual OutsideEnd Run(const DeviceInfo& device, TaskControl& control) = 0;
  // Its name, and how long a cancel takes.
  virtual SharedSpec spec() const = 0;
  // What it keeps for those who ask after it, while the job is retained: now, and at most.
  virtual std::uint64_t kept_bytes() const = 0;
  virtual std::uint64_t most_kept_bytes() const = 0;
};

}  // namespace hotplate::core
