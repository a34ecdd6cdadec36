// Where a daemon runs: the node's addresses, and the Slurm allocation if there is one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/config.h"

namespace hotplate::server {

// What Slurm says in the environment of a batch script or step; empty for a daemon started by hand.
struct Allocation {
  std::string cluster;
  std::string job_id;
  std::uint32_t restart_count = 0;
  std::optional<std::chrono::system_clock::time_point> end_time;
};

Allocation ReadAllocation(const Surroundings& surroundings);

std::string NodeName();

// The numeric addresses at which others reach a daemon that listens on `listen`: itself, or for 0.0.0.0 and :: the
// node's own, those of real networks first.
std::vector<std::string> ReachableAddresses(const std::string& listen);

}  // namespace hotplate::server
