// Work that is no kernel of the catalogue: a program or a function of a user's, in processes of its own. To the core it
// is a job like any other: it waits for a lane of a device, has it while it runs, and ends with a receipt. Its outputs
// are known when it has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/array/host_buffer.h"
#include "kernels/devices/device.h"
#include "server/core/run/run_result.h"

namespace hotplate::core {

struct OutsideInput {
  Signature signature;
  std::shared_ptr<const HostBuffer> buffer;
};

class OutsideWork {
 public:
  virtual ~OutsideWork() = default;
  // Memory for an output, which the daemon counts.
  using Allocate = std::function<absl::StatusOr<std::shared_ptr<HostBuffer>>(std::size_t bytes)>;

  // Once, on a lane's thread. Returns when the work is over, and soon after `control` asks for a cancel. `inputs`: in
  // the spec's order.
  virtual RunResult Run(const DeviceInfo& device, const std::vector<OutsideInput>& inputs, const Allocate& allocate,
                        TaskControl& control) = 0;
  // Whether this output, of those that Run gave, stays as an array.
  virtual bool Keeps(const std::string& output) const = 0;
  // Its name, its inputs, and how long a cancel takes.
  virtual SharedSpec spec() const = 0;
  // Of work that is only there for somebody at a terminal: when it was last used. Null: it counts as use while it runs.
  virtual std::optional<SteadyTime> quiet_since() const { return std::nullopt; }
  // Bytes that it keeps for clients to read while the job is retained: now, and at most.
  virtual std::uint64_t kept_bytes() const = 0;
  virtual std::uint64_t most_kept_bytes() const = 0;
};

}  // namespace hotplate::core
