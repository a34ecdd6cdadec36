// Work that is no kernel of the catalogue: a program in processes of its own. To the core it is a job like any other,
// without inputs and outputs: it waits for a lane of a device, has it while it runs, and ends with a receipt.
#pragma once

#include <cstdint>

#include "kernels/devices/device.h"
#include "server/core/run/run_result.h"

namespace hotplate::core {

class OutsideWork {
 public:
  virtual ~OutsideWork() = default;
  // Once, on a lane's thread. Returns when the work is over, and soon after `control` asks for a cancel.
  virtual RunResult Run(const DeviceInfo& device, TaskControl& control) = 0;
  // Its name, and how long a cancel takes.
  virtual SharedSpec spec() const = 0;
  // Bytes that it keeps for clients to read while the job is retained: now, and at most.
  virtual std::uint64_t kept_bytes() const = 0;
  virtual std::uint64_t most_kept_bytes() const = 0;
};

}  // namespace hotplate::core
