// Slurm's commands on queues: sinfo for partitions, scontrol for the cluster, sacct for waiting times.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/partitions/sacct_text.h"
#include "kernels/base/slurm.h"

namespace hotplate::cli {

// A partition and its time limit: kUnlimited for none, nothing if unknown.
using PartitionLimit = std::pair<std::string, std::optional<std::int64_t>>;

struct ClusterFacts {
  std::string name;           // empty where it cannot be told
  bool private_jobs = false;  // PrivateData: sacct shows most users their own jobs alone
};

class Accounting {
 public:
  // `options`: a cluster of its own, or the one that the commands ask by themselves; how long one command may take.
  Accounting(ProgramRunner run, const SlurmCommands::Options& options)
      : cluster_(options.cluster), commands_(std::move(run), options) {}

  // All of them, hidden ones too, in sinfo's order.
  absl::StatusOr<std::vector<PartitionLimit>> Partitions();
  ClusterFacts Facts();
  // DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED: too much at once. Other errors end with exit code 9 and name an
  // alternative to the accounting. `on_rows` is called now and then with the number of rows so far.
  absl::StatusOr<SliceJobs> Read(EpochSeconds from, EpochSeconds to, const std::function<void(std::size_t)>& on_rows);

 private:
  const std::string cluster_;
  const SlurmCommands commands_;
};

// "gpu|7-00:00:00" lines of sinfo.
std::vector<PartitionLimit> ParsePartitions(const std::string& out);
// PrivateData.
bool KeepsJobsPrivate(const SlurmConfig& config);
// "2026-11-21T00:00:00", UTC.
std::string SacctTime(EpochSeconds time);

}  // namespace hotplate::cli
