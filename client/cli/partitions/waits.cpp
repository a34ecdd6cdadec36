#include "client/cli/partitions/waits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "client/cli/terminal/format.h"

namespace hotplate::cli {
namespace {

WaitCell CellOf(std::vector<std::uint32_t>& waits) {
  if (waits.empty()) return {};
  return {waits.size(), Quantile(waits, 0.5), Quantile(waits, 0.9)};
}

}  // namespace

std::optional<Measure> ParseMeasure(const std::string& text) {
  for (const Measure measure : {Measure::kCpuHours, Measure::kMemory, Measure::kGpus})
    if (text == Name(measure)) return measure;
  return std::nullopt;
}

std::string Name(Measure measure) {
  switch (measure) {
    case Measure::kCpuHours:
      return "cpu-hours";
    case Measure::kMemory:
      return "memory";
    case Measure::kGpus:
      break;
  }
  return "gpus";
}

std::vector<double> DefaultEdges(Measure measure) {
  return measure == Measure::kGpus ? std::vector<double>{1, 2, 4, 8} : std::vector<double>{4, 16, 64};
}

std::optional<std::vector<double>> ParseEdges(const std::string& text) {
  std::vector<double> edges;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto edge = ParseNumber(text.substr(begin, end - begin));
    if (!edge || !std::isfinite(*edge) || *edge <= (edges.empty() ? 0 : edges.back())) return std::nullopt;
    edges.push_back(*edge);
    if (edges.size() > kMostEdges) return std::nullopt;
    begin = end + 1;
  }
  return edges;
}

std::optional<double> SizeOf(const JobStart& job, Measure measure, std::optional<std::int64_t> partition_minutes) {
  switch (measure) {
    case Measure::kCpuHours: {
      std::optional<std::int64_t> minutes = job.minutes;
      if (job.minutes == kPartitionLimit) minutes = partition_minutes;
      if (!minutes) return std::nullopt;
      if (*minutes == kUnlimited) return std::numeric_limits<double>::infinity();
      return static_cast<double>(job.cpus) * static_cast<double>(*minutes) / 60;
    }
    case Measure::kMemory:
      if (job.memory_mib == kUnknownMemory) return std::nullopt;
      return static_cast<double>(job.memory_mib) / 1024;
    case Measure::kGpus:
      break;
  }
  return static_cast<double>(job.gpus);
}

std::size_t Bins::IndexOf(double size) const {
  if (edges_.size() > 1 && measure_ != Measure::kGpus && size == edges_.back()) return edges_.size() - 1;
  return static_cast<std::size_t>(std::upper_bound(edges_.begin(), edges_.end(), size) - edges_.begin());
}

std::string Bins::Label(std::size_t bin) const {
  if (measure_ == Measure::kGpus) {
    const double low = bin == 0 ? 0 : std::ceil(edges_[bin - 1]);
    if (bin == edges_.size()) return "≥ " + Number(low) + " GPUs";
    const double high = std::ceil(edges_[bin]) - 1;
    if (high <= 0) return "no GPU";
    if (high <= low) return Number(low) + (low == 1 ? " GPU" : " GPUs");
    return Number(low) + "–" + Number(high) + " GPUs";
  }
  const std::string unit = measure_ == Measure::kMemory ? " GB" : " CPUh";
  if (bin == 0) return "< " + Number(edges_[0]) + unit;
  if (bin == edges_.size()) return (edges_.size() > 1 ? "> " : "≥ ") + Number(edges_.back()) + unit;
  return Number(edges_[bin - 1]) + "–" + Number(edges_[bin]) + unit;
}

double Quantile(std::vector<std::uint32_t>& values, double q) {
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), below, values.end());
  const double part = place - std::floor(place);
  if (part == 0) return *below;
  const double next = *std::min_element(below + 1, values.end());
  return *below + part * (next - *below);
}

WaitTable::WaitTable(Bins bins, const std::vector<std::pair<std::string, std::optional<std::int64_t>>>& limits,
                     EpochSeconds since)
    : bins_(std::move(bins)), since_(since) {
  for (const auto& [name, minutes] : limits) {
    if (!index_.emplace(name, partitions_.size()).second) continue;
    Partition partition;
    partition.name = name;
    partition.minutes = minutes;
    partition.waits.resize(bins_.size() + 1);
    partitions_.push_back(std::move(partition));
  }
}

WaitTable::Partition* WaitTable::Find(const std::string& name) {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &partitions_[found->second];
}

void WaitTable::Add(const SliceJobs& slice) {
  for (const JobStart& job : slice.starts) {
    if (job.start < since_) continue;
    if (job.wait == kNeverStarted) {
      // Given several partitions, the job would have got the first free one. It counts in the one named first.
      if (Partition* partition = Find(job.partition.substr(0, job.partition.find(',')))) ++partition->never_started;
      continue;
    }
    Partition* partition = Find(job.partition);
    if (partition == nullptr) continue;
    const auto size = SizeOf(job, bins_.measure(), partition->minutes);
    partition->waits[size ? bins_.IndexOf(*size) : bins_.size()].push_back(
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(job.wait, 0, std::numeric_limits<std::uint32_t>::max())));
  }
  unreadable_ += slice.unreadable;
}

void WaitTable::SetWaiting(const std::map<std::string, std::int64_t>& waiting) {
  for (Partition& partition : partitions_) {
    const auto found = waiting.find(partition.name);
    partition.waiting = found == waiting.end() ? 0 : found->second;
  }
}

std::vector<PartitionWaits> WaitTable::Waits() {
  std::vector<PartitionWaits> table;
  for (Partition& partition : partitions_) {
    PartitionWaits row;
    row.partition = partition.name;
    row.never_started = partition.never_started;
    row.waiting = partition.waiting;
    std::vector<std::uint32_t> all;
    for (std::size_t bin = 0; bin <= bins_.size(); ++bin) {
      std::vector<std::uint32_t>& waits = partition.waits[bin];
      all.insert(all.end(), waits.begin(), waits.end());
      if (bin < bins_.size())
        row.bins.push_back(CellOf(waits));
      else
        row.unknown_size = waits.size();
    }
    row.all = CellOf(all);
    table.push_back(std::move(row));
  }
  return table;
}

}  // namespace hotplate::cli
