// Work that is no kernel of the catalogue: a program or a function of a user's, in processes of its own. To the core it
// is a job like any other: it waits for a lane of a device or places for workers there, has them while it runs, and
// ends with a receipt. Its outputs are known when it has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/array/host_buffer.h"
#include "kernels/devices/device.h"
#include "server/core/run/run_result.h"
#include "server/core/types.h"

namespace hotplate::core {

struct OutsideInput {
  Signature signature;
  std::shared_ptr<const HostBuffer> buffer;
};

// Places for workers on this device, where EngineOptions::workers is `workers`.
inline std::uint32_t WorkersOn(const DeviceInfo& device, std::uint32_t workers) {
  return device.host_memory ? workers : 0;
}

class OutsideWork {
 public:
  // The daemon's services to work that runs.
  struct Daemon {
    // Memory for an output, which the daemon counts.
    std::function<absl::StatusOr<std::shared_ptr<HostBuffer>>(std::size_t bytes)> allocate;
    // Takes a turn (schedule/turns.h) that nobody has (false: somebody has it), and gives it back.
    std::function<bool(std::uint64_t turn)> claim_turn;
    std::function<void(std::uint64_t turn)> leave_turn;
    // Memory that the device keeps for tasks to come goes back to it: another process is about to begin there.
    std::function<void()> give_back;
  };
  struct Place {
    std::string device;      // as in JobRequest
    std::uint64_t turn = 0;  // QueueEntry::turn
    // The processor's threads that it needs, on devices with places for workers (EngineOptions::workers). 0: a lane.
    std::uint32_t cpus = 0;
  };

  virtual ~OutsideWork() = default;

  // Before the job is queued: where it has to run, or why it cannot. `inputs`: in the spec's order; null where one has
  // yet to be read. `device`: the request's.
  virtual absl::StatusOr<Place> PlaceFor(const Principal& /*who*/,
                                         const std::vector<std::shared_ptr<const HostBuffer>>& /*inputs*/,
                                         const std::string& device) {
    return Place{device};
  }
  // Once, on the thread of a lane or of a worker. Returns when the work is over, and soon after `control` asks for a
  // cancel. `inputs`: in the spec's order.
  virtual RunResult Run(const DeviceInfo& device, const std::vector<OutsideInput>& inputs, const Daemon& daemon,
                        TaskControl& control) = 0;
  // The work of one task of a sweep, which is told these values; this one is then never run.
  virtual std::shared_ptr<OutsideWork> ForTask(
      std::uint64_t /*task*/, const std::vector<std::pair<std::string, ParamValue>>& /*values*/) const {
    return nullptr;
  }
  // Whether this output, of those that Run gave, stays as an array.
  virtual bool Keeps(const std::string& output) const = 0;
  // Its name, its inputs, and how long a cancel takes.
  virtual SharedSpec spec() const = 0;
  // The user's own name for it: runs of one name may take similar times. Empty: it has none.
  virtual std::string called() const { return ""; }
  // The last use of a program that somebody talks to at a terminal. Null: the work counts as use while it runs.
  virtual std::optional<SteadyTime> quiet_since() const { return std::nullopt; }
  // Bytes that it keeps for clients to read while the job is retained: now, and at most.
  virtual std::uint64_t kept_bytes() const = 0;
  virtual std::uint64_t most_kept_bytes() const = 0;
};

}  // namespace hotplate::core
