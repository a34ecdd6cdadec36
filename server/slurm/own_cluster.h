// Slurm's commands as the daemon asks them.
#pragma once

#include <stop_token>

#include "kernels/base/slurm.h"

namespace hotplate::server {

// About the cluster of this node, in this process's environment, until they are asked to stop.
SlurmCommands OwnCluster(const std::stop_token& stop);

}  // namespace hotplate::server
