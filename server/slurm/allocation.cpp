#include "server/slurm/allocation.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace hotplate::server {
namespace {

// A daemon's name has at most 64 bytes.
constexpr std::size_t kLongestPart = 24;
// GPUs of a node: more are not believed.
constexpr int kMostGpus = 1024;
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

  // Anything but a whole number up to `most` counts as not set: a variable of Slurm's is not the user's to mend.
  std::optional<std::int64_t> Count(const char* variable, std::int64_t most) const {
    const std::optional<std::int64_t> number = Number(Text(variable));
    return number && *number <= most ? number : std::nullopt;
  }

 private:
  const Surroundings& surroundings_;
};

// "0,2-3"; empty for other texts.
std::vector<int> Numbers(std::string_view list) {
  std::vector<int> numbers;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view part = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t dash = part.find('-');
    const std::optional<std::int64_t> first = Number(part.substr(0, dash));
    const std::optional<std::int64_t> last = dash == part.npos ? first : Number(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMostGpus || numbers.size() > kMostGpus) return {};
    for (std::int64_t number = *first; number <= *last; ++number) numbers.push_back(static_cast<int>(number));
  }
  return numbers;
}

void ReadGpus(const Reader& reader, Allocation& allocation) {
  allocation.gpu_ids = reader.Text("SLURM_STEP_GPUS");
  if (allocation.gpu_ids.empty()) allocation.gpu_ids = reader.Text("SLURM_JOB_GPUS");
  const std::vector<int> numbers = Numbers(allocation.gpu_ids);
  const auto count = reader.Count("SLURM_GPUS_ON_NODE", kMostGpus);
  allocation.gpus = static_cast<std::uint32_t>(count ? static_cast<std::size_t>(*count) : numbers.size());
  // A batch job inherits the step's variable from the shell that submitted it, and a step may run on another node than
  // the one that the job's was set on: a GPU that either names may be this job's.
  allocation.gpu_numbers = numbers;
  for (const int number : Numbers(reader.Text("SLURM_JOB_GPUS"))) {
    if (std::ranges::find(numbers, number) == numbers.end()) allocation.gpu_numbers.push_back(number);
  }
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

std::string ShortName(const std::string& host) { return host.substr(0, host.find('.')); }

// The hosts of an LSF job, "a b b": each as often as the job has slots there, in this or in the other list with counts
// ("a 1 b 2"), which has no bound on its length.
std::vector<std::string> LsfHosts(const Reader& reader) {
  const std::string counted = reader.Text("LSB_MCPU_HOSTS");
  std::istringstream words(counted.empty() ? reader.Text("LSB_HOSTS") : counted);
  std::vector<std::string> hosts;
  std::set<std::string> seen;
  bool is_host = true;
  for (std::string word; words >> word;) {
    if (is_host && seen.insert(word).second) hosts.push_back(word);
    if (!counted.empty()) is_host = !is_host;
  }
  return hosts;
}

// "17", or "17[3]" for an element of a job array.
std::string LsfJob(const Reader& reader) {
  const std::string job = reader.Text("LSB_JOBID");
  const std::int64_t index = reader.Count("LSB_JOBINDEX", 1'000'000'000).value_or(0);
  return job.empty() || index == 0 ? job : job + "[" + std::to_string(index) + "]";
}

// By IBM's documentation; never run on an LSF.
Allocation ReadLsf(const Reader& reader, const std::string& node) {
  Allocation allocation;
  const std::vector<std::string> hosts = LsfHosts(reader);
  for (const std::string& host : hosts) {
    if (ShortName(host) == ShortName(node)) allocation.node = host;
  }
  if (hosts.empty()) allocation.node = node;
  allocation.job_id = LsfJob(reader);
  if (allocation.job_id.empty() || allocation.node.empty()) return Allocation();
  allocation.system = BatchSystem::kLsf;
  allocation.cluster = reader.Text("LSF_CLUSTER");
  if (allocation.cluster.empty()) allocation.cluster = "lsf";
  allocation.partition = reader.Text("LSB_QUEUE");
  allocation.submit_host = reader.Text("LSB_SUB_HOST");
  for (const std::string& host : hosts) allocation.node_list += (allocation.node_list.empty() ? "" : ",") + host;
  return allocation;
}

Allocation ReadSlurm(const Reader& reader) {
  Allocation allocation;
  allocation.node = reader.Text("SLURMD_NODENAME");
  if (allocation.node.empty()) return allocation;
  allocation.job_id = reader.Text("SLURM_JOB_ID");
  if (allocation.job_id.empty()) return Allocation();
  allocation.system = BatchSystem::kSlurm;
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

}  // namespace

Allocation ReadAllocation(const Surroundings& surroundings) {
  const Reader reader(surroundings);
  const bool slurm = !reader.Text("SLURM_JOB_ID").empty();
  return slurm ? ReadSlurm(reader) : ReadLsf(reader, surroundings.node);
}

std::string AllocationElsewhere(const Surroundings& surroundings) {
  const Reader reader(surroundings);
  if (!ReadAllocation(surroundings).empty()) return "";
  const std::string job = reader.Text("SLURM_JOB_ID");
  return job.empty() ? LsfJob(reader) : job;
}

std::string DefaultName(const Allocation& allocation) {
  if (allocation.empty()) return "local";
  const std::string name =
      NamePart(allocation.cluster.empty() ? "slurm" : allocation.cluster) + "-" + NamePart(allocation.job_id);
  if (!allocation.one_of_several) return name;
  return name + "-" + NamePart(ShortName(allocation.node));
}

}  // namespace hotplate::server
