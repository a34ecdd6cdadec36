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
#include "kernels/base/run_program.h"

namespace hotplate::cli {

// A partition and its time limit: kUnlimited for none, nothing if unknown.
using PartitionLimit = std::pair<std::string, std::optional<std::int64_t>>;

struct ClusterFacts {
  std::string name;           // empty where it cannot be told
  bool private_jobs = false;  // PrivateData: sacct shows most users their own jobs alone
};

class Accounting {
 public:
  struct Options {
    std::string cluster = {};  // for -M; empty: the one that the commands ask by themselves
    std::chrono::milliseconds timeout = std::chrono::seconds(30);  // of one command
    std::stop_token stop = {};
  };
  Accounting(ProgramRunner run, Options options) : run_(std::move(run)), options_(std::move(options)) {}

  // All of them, hidden ones too, in sinfo's order.
  absl::StatusOr<std::vector<PartitionLimit>> Partitions();
  ClusterFacts Facts();
  // DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED: too much at once. Other errors end with exit code 9 and name an
  // alternative to the accounting. `on_rows` is called now and then with the number of rows so far.
  absl::StatusOr<SliceJobs> Read(EpochSeconds from, EpochSeconds to, const std::function<void(std::size_t)>& on_rows);

 private:
  std::vector<std::string> Command(const std::string& program, const std::vector<std::string>& words) const;

  ProgramRunner run_;
  Options options_;
};

// "gpu|7-00:00:00" lines of sinfo.
std::vector<PartitionLimit> ParsePartitions(const std::string& out);
// PrivateData of `scontrol show config`.
bool KeepsJobsPrivate(const std::string& config);
// "2026-11-21T00:00:00", UTC.
std::string UtcText(EpochSeconds time);

}  // namespace hotplate::cli
