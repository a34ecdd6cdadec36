// Which devices a daemon uses.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/devices/device.h"
#include "server/config.h"
#include "server/slurm/allocation.h"

namespace hotplate::server {

// Opens what the config asks for, within what Slurm gave of this node: its CPUs and memory are kept to where the site
// itself does not (a node is shared, and not every site has cgroups do it), and a count of GPUs that is not Slurm's is
// a note. `host_bytes` becomes the host memory that jobs may use: less what is pinned for the devices.
// FAILED_PRECONDITION, with the reasons, if CUDA is required and none of its devices can be used, or one that is named
// cannot. `log` is told what devices have to say later.
absl::StatusOr<DeviceSet> ChooseDevices(const Config& config, const Allocation& allocation, const Catalog& catalog,
                                        std::function<void(const std::string&)> log, std::uint64_t& host_bytes);

}  // namespace hotplate::server
