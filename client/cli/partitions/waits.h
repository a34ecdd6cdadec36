// From starts of jobs to the table of waits: sizes, bins, quantiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/partitions/sacct_text.h"

namespace hotplate::cli {

// The measure of a job's size.
enum class Measure {
  kCpuHours,  // requested cores × time limit
  kMemory,    // requested on all nodes together, in Slurm's GB (2^30 bytes)
  kGpus       // requested on all nodes together
};

// "cpu-hours", "memory", "gpus".
std::optional<Measure> ParseMeasure(const std::string& text);
std::string Name(Measure measure);
std::vector<double> DefaultEdges(Measure measure);

inline constexpr std::size_t kMostEdges = 20;
// "4,16,64": ascending numbers above 0; nothing for anything else.
std::optional<std::vector<double>> ParseEdges(const std::string& text);

// The size of a job; nothing if unknown. `partition_minutes`: the partition's own time limit; kUnlimited for none;
// nothing if unknown.
std::optional<double> SizeOf(const JobStart& job, Measure measure, std::optional<std::int64_t> partition_minutes);

// Sizes fall into edges.size() + 1 bins. A size on an edge belongs to the bin above, except on the last of several
// edges, so that "< 4", "16–64" and "> 64" are all literally true. Counts of GPUs always belong above.
class Bins {
 public:
  Bins(Measure measure, std::vector<double> edges) : measure_(measure), edges_(std::move(edges)) {}

  std::size_t size() const { return edges_.size() + 1; }
  std::size_t IndexOf(double size) const;
  std::string Label(std::size_t bin) const;  // "4–16 CPUh", "< 4 GB", "2–3 GPUs"
  Measure measure() const { return measure_; }
  const std::vector<double>& edges() const { return edges_; }

 private:
  Measure measure_;
  std::vector<double> edges_;
};

// The q-quantile of at least one value, with linear interpolation as in NumPy. Reorders `values`.
double Quantile(std::vector<std::uint32_t>& values, double q);

struct WaitCell {
  std::size_t jobs = 0;
  double median = 0, p90 = 0;  // seconds; of at least one job
};

struct PartitionWaits {
  std::string partition;
  std::vector<WaitCell> bins;
  WaitCell all;                   // including jobs of unknown size
  std::size_t unknown_size = 0;   // jobs that started and are in no bin
  std::size_t never_started = 0;  // jobs that were cancelled, or past their deadline, before they started
  std::int64_t waiting = 0;       // now
};

// Takes slice after slice; keeps four bytes of each job.
class WaitTable {
 public:
  // `limits`: the partitions to show, in this order, with their time limits as SizeOf wants them.
  WaitTable(Bins bins, const std::vector<std::pair<std::string, std::optional<std::int64_t>>>& limits,
            EpochSeconds since);

  void Add(const SliceJobs& slice);
  // The jobs that wait now: as the last slice has them.
  void SetWaiting(const std::map<std::string, std::int64_t>& waiting);

  std::vector<PartitionWaits> Waits();

  const Bins& bins() const { return bins_; }
  std::int64_t unreadable() const { return unreadable_; }

 private:
  struct Partition {
    std::string name;
    std::optional<std::int64_t> minutes;
    std::vector<std::vector<std::uint32_t>> waits;  // one for each bin, and the last for unknown sizes
    std::size_t never_started = 0;
    std::int64_t waiting = 0;
  };

  Partition* Find(const std::string& name);

  const Bins bins_;
  const EpochSeconds since_;
  std::vector<Partition> partitions_;
  std::map<std::string, std::size_t> index_;
  std::int64_t unreadable_ = 0;
};

}  // namespace hotplate::cli
