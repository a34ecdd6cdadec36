// What Slurm's commands tell about queues: sinfo the partitions, scontrol the cluster, sacct who waited how long.
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

// A partition and its time limit: kUnlimited for none, nothing where it is not known.
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
  // DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED where it is too much at once; else errors end with exit code 9 and say
  // what there is in place of an accounting. `on_rows` hears now and then how many have come.
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
