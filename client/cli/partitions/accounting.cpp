#include "client/cli/partitions/accounting.h"

#include <array>
#include <ctime>
#include <sstream>

#include "client/cli/ending.h"
#include "client/cli/scheduler/slurm.h"
#include "client/cli/terminal/console.h"

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

std::vector<std::string> Accounting::Command(const std::string& program, const std::vector<std::string>& words) const {
  std::vector<std::string> command = {program};
  if (!options_.cluster.empty()) command.insert(command.end(), {"-M", options_.cluster});
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

absl::StatusOr<std::vector<PartitionLimit>> Accounting::Partitions() {
  const auto result = run_({.words = Command("sinfo", {"--noheader", "--all", "--format=%R|%l"}),
                            .timeout = options_.timeout,
                            .stop = options_.stop});
  if (absl::IsNotFound(result.status())) return NoProgram("sinfo");
  if (absl::IsDeadlineExceeded(result.status())) return NoAccounting(std::string(result.status().message()));
  if (!result.ok()) return result.status();
  if (result->exit_code != 0) return Failed("sinfo", *result);
  return ParsePartitions(result->out);
}

ClusterFacts Accounting::Facts() {
  const auto result =
      run_({.words = Command("scontrol", {"show", "config"}), .timeout = options_.timeout, .stop = options_.stop});
  ClusterFacts facts{options_.cluster};
  if (!result.ok() || result->exit_code != 0) return facts;
  if (facts.name.empty()) facts.name = slurm::ParseClusterName(result->out);
  facts.private_jobs = KeepsJobsPrivate(result->out);
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
  // --duplicates: a requeued job waits again each time. Times are UTC in both directions, independent of the site's
  // clocks.
  const auto result =
      run_({.words = Command("sacct", {"--allusers", "--allocations", "--duplicates", "--parsable2", "--noheader",
                                       "--starttime=" + UtcText(from), "--endtime=" + UtcText(to),
                                       std::string("--format=") + kSacctColumns}),
            .environment = {{"TZ", "UTC"}, {"SLURM_TIME_FORMAT", "%s"}},
            .timeout = options_.timeout,
            .on_output = take,
            .stop = options_.stop});
  if (too_many)
    return absl::ResourceExhaustedError("sacct has more than " + std::to_string(kMostRows) + " rows from " +
                                        UtcText(from) + " to " + UtcText(to) + " (UTC)");
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

bool KeepsJobsPrivate(const std::string& config) {
  std::istringstream lines(config);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("PrivateData", 0) != 0) continue;
    std::istringstream values(line.substr(std::min(line.find('='), line.size() - 1) + 1));
    for (std::string value; std::getline(values >> std::ws, value, ',');)
      if (value == "jobs" || value == "all") return true;
  }
  return false;
}

std::string UtcText(EpochSeconds time) {
  const std::time_t seconds = time;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  return text.data();
}

}  // namespace hotplate::cli
