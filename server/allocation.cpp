#include "server/allocation.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

namespace hotplate::server {
namespace {

// A daemon's name has at most 64 bytes.
constexpr std::size_t kLongestPart = 24;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

class Reader {
 public:
  explicit Reader(const Surroundings& surroundings) : surroundings_(surroundings) {}

  std::string Text(const char* variable) const { return surroundings_.environment(variable).value_or(""); }

  // What is no whole number up to `most` is nothing: a variable of Slurm's is not the user's to mend.
  std::optional<std::int64_t> Count(const char* variable, std::int64_t most) const {
    const std::optional<std::int64_t> number = Number(Text(variable));
    return number && *number <= most ? number : std::nullopt;
  }

 private:
  const Surroundings& surroundings_;
};

// How many numbers "0,2-3" names.
std::uint32_t CountIds(std::string_view list) {
  constexpr std::int64_t kMost = 1024;
  std::int64_t count = 0;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view part = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t dash = part.find('-');
    const std::optional<std::int64_t> first = Number(part.substr(0, dash));
    const std::optional<std::int64_t> last = dash == part.npos ? first : Number(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last > kMost) return 0;
    count += *last - *first + 1;
  }
  return static_cast<std::uint32_t>(std::min(count, kMost));
}

void ReadGpus(const Reader& reader, Allocation& allocation) {
  constexpr std::int64_t kMost = 1024;
  allocation.gpu_ids = reader.Text("SLURM_STEP_GPUS");
  if (allocation.gpu_ids.empty()) allocation.gpu_ids = reader.Text("SLURM_JOB_GPUS");
  const auto count = reader.Count("SLURM_GPUS_ON_NODE", kMost);
  allocation.gpus = count ? static_cast<std::uint32_t>(*count) : CountIds(allocation.gpu_ids);
}

// Slurm gives one of three, in MiB.
void ReadMemory(const Reader& reader, Allocation& allocation) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // a PiB
  struct Row {
    const char* variable;
    std::uint64_t times;
  };
  for (const Row& row : {Row{"SLURM_MEM_PER_NODE", 1}, Row{"SLURM_MEM_PER_CPU", allocation.cpus},
                         Row{"SLURM_MEM_PER_GPU", allocation.gpus}}) {
    const auto mebibytes = reader.Count(row.variable, kMost);
    if (!mebibytes || *mebibytes == 0 || row.times == 0) continue;  // 0 is all of the node's
    allocation.memory_bytes = static_cast<std::uint64_t>(*mebibytes) * kMebibyte * row.times;
    allocation.memory_source = row.variable;
    return;
  }
}

// As a part of a daemon's name.
std::string NamePart(const std::string& text) {
  std::string part = text.substr(0, kLongestPart);
  for (char& c : part) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '-';
  }
  return part;
}

}  // namespace

Allocation ReadAllocation(const Surroundings& surroundings) {
  const Reader reader(surroundings);
  Allocation allocation;
  allocation.node = reader.Text("SLURMD_NODENAME");
  if (allocation.node.empty()) return allocation;
  allocation.job_id = reader.Text("SLURM_JOB_ID");
  if (allocation.job_id.empty()) return Allocation();
  allocation.cluster = reader.Text("SLURM_CLUSTER_NAME");
  if (allocation.cluster.empty()) {
    // A step that was started from the login node (srun --jobid) has this alone: "lab:10.77.0.1:6817:9728:109".
    const std::string working = reader.Text("SLURM_WORKING_CLUSTER");
    allocation.cluster = working.substr(0, working.find(':'));
  }
  allocation.partition = reader.Text("SLURM_JOB_PARTITION");
  allocation.node_list = reader.Text("SLURM_JOB_NODELIST");
  allocation.submit_host = reader.Text("SLURM_SUBMIT_HOST");
  allocation.restart_count = static_cast<std::uint32_t>(reader.Count("SLURM_RESTART_COUNT", 1'000'000).value_or(0));
  allocation.one_of_several =
      reader.Count("SLURM_JOB_NUM_NODES", 1'000'000).value_or(1) > 1 && !reader.Text("SLURM_STEP_ID").empty();
  // Seconds since 1970; only newer versions of Slurm set it.
  if (const auto end = reader.Count("SLURM_JOB_END_TIME", std::int64_t{1} << 34); end && *end > 0) {
    allocation.end_time = std::chrono::system_clock::from_time_t(static_cast<time_t>(*end));
  }
  allocation.cpus = static_cast<std::uint32_t>(reader.Count("SLURM_CPUS_ON_NODE", 1'000'000).value_or(0));
  ReadGpus(reader, allocation);
  ReadMemory(reader, allocation);
  return allocation;
}

std::string AllocationElsewhere(const Surroundings& surroundings) {
  const Reader reader(surroundings);
  return reader.Text("SLURMD_NODENAME").empty() ? reader.Text("SLURM_JOB_ID") : "";
}

std::string DefaultName(const Allocation& allocation) {
  if (allocation.empty()) return "local";
  const std::string name =
      NamePart(allocation.cluster.empty() ? "slurm" : allocation.cluster) + "-" + NamePart(allocation.job_id);
  if (!allocation.one_of_several) return name;
  return name + "-" + NamePart(allocation.node.substr(0, allocation.node.find('.')));
}

}  // namespace hotplate::server
