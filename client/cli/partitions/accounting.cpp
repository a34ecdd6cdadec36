#include "client/cli/partitions/accounting.h"

#include <sstream>

#include "client/cli/ending.h"
#include "client/cli/terminal/console.h"
#include "client/cli/terminal/format.h"

namespace hotplate::cli {
namespace {

// Rows of one slice; a day of the largest clusters has fewer.
constexpr std::size_t kMostRows = 1'000'000;
constexpr char kInstead[] =
    "Slurm can tell when a job of yours would start: sbatch --test-only SCRIPT; which jobs wait now: squeue --start";

// The last of Slurm's words, which says most: "Problem talking to the database: Connection refused".
std::string LastLine(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = line;
  return last;
}

absl::Status NoAccounting(const std::string& why) {
  return WithNextStep(WithExitCode(absl::FailedPreconditionError("no queue waits: " + why), kExitScheduler), kInstead);
}

absl::Status NoProgram(const std::string& program) {
  return NoAccounting("there is no " + program +
                      " in PATH. They come from Slurm's accounting: is this a login node of a "
                      "cluster with Slurm?");
}

absl::Status Failed(const std::string& program, const ProgramResult& result) {
  const std::string words = LastLine(result.err.empty() ? result.out : result.err);
  if (words.find("accounting storage is disabled") != std::string::npos)
    return NoAccounting("this cluster keeps no accounting (" + program + ": " + words + ")");
  return NoAccounting(program + " ended with code " + std::to_string(result.exit_code) +
                      (words.empty() ? ", without any output" : ": " + words));
}

}  // namespace

absl::StatusOr<std::vector<PartitionLimit>> Accounting::Partitions() {
  const auto result = commands_.Ask("sinfo", {"--noheader", "--all", "--format=%R|%l"});
  if (absl::IsNotFound(result.status())) return NoProgram("sinfo");
  if (absl::IsDeadlineExceeded(result.status())) return NoAccounting(std::string(result.status().message()));
  if (!result.ok()) return result.status();
  if (result->exit_code != 0) return Failed("sinfo", *result);
  return ParsePartitions(result->out);
}

ClusterFacts Accounting::Facts() {
  auto config = commands_.Config();
  ClusterFacts facts{cluster_};
  if (!config.ok()) return facts;
  if (facts.name.empty()) facts.name = (*config)["ClusterName"];
  facts.private_jobs = KeepsJobsPrivate(*config);
  return facts;
}

absl::StatusOr<SliceJobs> Accounting::Read(EpochSeconds from, EpochSeconds to,
                                           const std::function<void(std::size_t)>& on_rows) {
  SacctReader reader(from, to, kMostRows);
  bool too_many = false;
  const auto take = [&](std::string_view block) {
    too_many = !reader.Take(block);
    on_rows(reader.rows());
    return !too_many;
  };
  // --duplicates: a requeued job waits anew each time. The times are UTC both ways, whatever the site's clocks do.
  const auto result = commands_.Ask(
      "sacct",
      {"--allusers", "--allocations", "--duplicates", "--parsable2", "--noheader", "--starttime=" + SacctTime(from),
       "--endtime=" + SacctTime(to), std::string("--format=") + kSacctColumns},
      {.environment = {{"TZ", "UTC"}}, .on_output = take});
  if (too_many)
    return absl::ResourceExhaustedError("sacct has more than " + std::to_string(kMostRows) + " rows from " +
                                        SacctTime(from) + " to " + SacctTime(to) + " (UTC)");
  if (absl::IsNotFound(result.status())) return NoProgram("sacct");
  if (!result.ok()) return result.status();
  if (result->exit_code != 0) return Failed("sacct", *result);
  return std::move(reader).Jobs();
}

std::vector<PartitionLimit> ParsePartitions(const std::string& out) {
  std::vector<PartitionLimit> partitions;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t bar = line.find('|');
    // "CLUSTER: snowy" stands above the rows of -M.
    if (bar == std::string::npos || bar == 0) continue;
    const std::string limit = line.substr(bar + 1);
    partitions.emplace_back(Printable(line.substr(0, bar)),
                            limit == "infinite" ? std::optional(kUnlimited) : ParseSlurmMinutes(limit));
  }
  return partitions;
}

bool KeepsJobsPrivate(const SlurmConfig& config) {
  const auto row = config.find("PrivateData");
  if (row == config.end()) return false;
  std::istringstream values(row->second);
  for (std::string value; std::getline(values >> std::ws, value, ',');)
    if (value == "jobs" || value == "all") return true;
  return false;
}

std::string SacctTime(EpochSeconds time) { return UtcTime(time, "%Y-%m-%dT%H:%M:%S"); }

}  // namespace hotplate::cli
