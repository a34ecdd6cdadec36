// The table of waits for people, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "client/cli/partitions/waits.h"

namespace hotplate::cli {

// "0.5 s", "42 s", "8.2 m", "3.4 h", "2.1 d": at a glance, to two or three digits.
std::string WaitText(double seconds);

// Per partition a line of medians with the number of jobs, and one of 90th percentiles below it.
std::string WaitTableText(const Bins& bins, const std::vector<PartitionWaits>& waits, bool colour);

struct WaitQuestion {
  std::string cluster;
  EpochSeconds since = 0, until = 0;
  bool private_jobs = false;
};
std::string WaitJson(const WaitQuestion& question, const WaitTable& table, const std::vector<PartitionWaits>& waits);

}  // namespace hotplate::cli
