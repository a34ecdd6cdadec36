// Which devices a daemon uses.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/devices/device.h"
#include "server/config.h"
#include "server/slurm/allocation.h"

namespace hotplate::server {

// The part of the host that jobs may use.
struct HostLimits {
  std::uint64_t bytes = 0;  // without the memory pinned for devices
  int threads = 1;
};

// Opens the configured devices within Slurm's share of this node: CPUs and memory are limited even if the site does not
// do it (a node is shared, and not every site limits by cgroups), and a GPU count that differs from Slurm's gives a
// note. FAILED_PRECONDITION, with the reasons: CUDA is required and no device is usable, a named device is not, or
// there are more devices than one daemon serves. `log` receives the devices' later messages.
absl::StatusOr<DeviceSet> ChooseDevices(const Config& config, const Allocation& allocation, const Catalog& catalog,
                                        std::function<void(const std::string&)> log, HostLimits& host);

}  // namespace hotplate::server
