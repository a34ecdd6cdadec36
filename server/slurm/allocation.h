// The allocation that a daemon runs in, by the batch system's (Slurm's or LSF's) environment of its script or step.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/config.h"

namespace hotplate::server {

enum class BatchSystem { kNone, kSlurm, kLsf };

// All empty for a daemon started by hand. Members other than the identity are set by Slurm only.
struct Allocation {
  BatchSystem system = BatchSystem::kNone;
  std::string cluster, job_id;  // together its identity
  std::string partition, node_list;
  std::string node;         // the daemon's, by the name that the batch system has for it
  std::string submit_host;  // where the user asked for it: most likely where clients are
  std::uint32_t restart_count = 0;
  // The daemon is one of several: it runs in a step of an allocation of more than one node.
  bool one_of_several = false;
  std::optional<std::chrono::system_clock::time_point> end_time;

  // On this node; 0: Slurm does not say (for memory: no limit).
  std::uint32_t gpus = 0, cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::string gpu_ids;           // Slurm's own numbers of the GPUs, "0,1"
  std::vector<int> gpu_numbers;  // of step and job; also empty if they cannot be interpreted
  std::string memory_source;     // the variable that gave memory_bytes

  bool empty() const { return job_id.empty(); }
};

// A shell that salloc started on the login node has an allocation but is not in it: the result is then empty. If there
// are two, Slurm's.
Allocation ReadAllocation(const Surroundings& surroundings);

// The job id of an allocation that this process has and is not in; empty: there is none.
std::string AllocationElsewhere(const Surroundings& surroundings);

// "fake-17", or "fake-17-gpu2" for one of several; "local" without an allocation.
std::string DefaultName(const Allocation& allocation);

}  // namespace hotplate::server
