#include "kernels/base/slurm.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <iterator>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "kernels/array/quoted.h"
#include "kernels/base/status.h"

namespace hotplate {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (std::string& line : lines) absl::StripTrailingAsciiWhitespace(&line);
  return lines;
}

// Into `count` fields; the last one has the rest, whatever is in it. Empty where there are fewer.
std::vector<std::string> Fields(const std::string& line, int count) {
  std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits('|', count - 1));
  if (fields.size() != static_cast<std::size_t>(count)) fields.clear();
  return fields;
}

// Slurm's ways to say that there is nothing to say.
std::string Word(const std::string& text) {
  static constexpr std::string_view kNothing[] = {"None", "N/A", "(null)", "None assigned", "Unknown"};
  return std::find(std::begin(kNothing), std::end(kNothing), text) != std::end(kNothing) ? "" : text;
}

std::string FirstWord(const std::string& state) { return state.substr(0, state.find_first_of(" +")); }

absl::Status Failed(const std::string& program, const ProgramResult& result) {
  constexpr std::size_t kMostSaid = 200;
  std::string said = result.err.empty() ? result.out : result.err;
  absl::StripTrailingAsciiWhitespace(&said);
  return absl::UnavailableError(ToAbsl(program + " ended with status " + std::to_string(result.exit_code) +
                                       " and said " + Quoted(said.substr(0, kMostSaid))));
}

}  // namespace

std::vector<std::string> SlurmCommands::Command(const std::string& program,
                                                const std::vector<std::string>& words) const {
  std::vector<std::string> command = {program};
  if (!options_.cluster.empty()) command.insert(command.end(), {"-M", options_.cluster});
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

absl::StatusOr<ProgramResult> SlurmCommands::Run(const std::string& program, const std::vector<std::string>& words,
                                                 ProgramCall call) const {
  call.words = Command(program, words);
  call.timeout = options_.timeout;
  call.stop = options_.stop;
  return run_(call);
}

absl::StatusOr<ProgramResult> SlurmCommands::Ask(const std::string& program, const std::vector<std::string>& words,
                                                 ProgramCall call) const {
  call.environment.emplace_back("SLURM_TIME_FORMAT", "%s");
  call.without.insert(call.without.end(), {"SQUEUE_*", "SACCT_*", "SINFO_*"});
  if (options_.own_cluster) {
    call.environment.emplace_back("SQUEUE_LOCAL", "1");  // not the siblings of a federation
    call.without.emplace_back("SLURM_CLUSTERS");
  }
  return Run(program, words, std::move(call));
}

absl::StatusOr<std::optional<SlurmJob>> SlurmCommands::Queued(const std::string& job_id) const {
  // -a: jobs of hidden partitions too. -t all: also those that ended a moment ago.
  const auto result = Ask("squeue", {"-h", "-a", "-t", "all", "-j", job_id, "-o", kSqueueColumns});
  if (!result.ok()) return result.status();
  std::optional<SlurmJob> job = ParseSqueue(result->out, job_id);
  if (!job && result->exit_code != 0 && result->err.find("Invalid job id") == std::string::npos)
    return Failed("squeue", *result);
  return job;
}

absl::StatusOr<std::optional<SlurmJob>> SlurmCommands::Accounted(const std::string& job_id) const {
  const auto result = Ask("sacct", {"-n", "-X", "-P", "-j", job_id, "-o", kSacctJobColumns});
  if (!result.ok()) return result.status();
  return result->exit_code == 0 ? ParseSacct(result->out) : std::nullopt;
}

absl::StatusOr<SlurmConfig> SlurmCommands::Config() const {
  const auto result = Ask("scontrol", {"show", "config"});
  if (!result.ok()) return result.status();
  if (result->exit_code != 0) return Failed("scontrol", *result);
  return ParseSlurmConfig(result->out);
}

std::optional<SlurmJob> ParseSqueue(const std::string& out, const std::string& job_id) {
  for (const std::string& line : Lines(out)) {  // "CLUSTER: name" may stand before them
    const std::vector<std::string> fields = Fields(line, 7);
    if (fields.empty() || fields[0] != job_id) continue;
    return SlurmJob{.state = FirstWord(fields[1]),
                    .reason = Word(fields[6]),
                    .nodes = Word(fields[4]),
                    .user = fields[5],
                    .start = ParseSlurmTime(fields[2]),
                    .end = ParseSlurmTime(fields[3])};
  }
  return std::nullopt;
}

std::optional<SlurmJob> ParseSacct(const std::string& out) {
  std::optional<SlurmJob> last;
  for (const std::string& line : Lines(out)) {
    const std::vector<std::string> fields = Fields(line, 6);
    if (fields.empty() || fields[0].empty()) continue;
    last = SlurmJob{.state = FirstWord(fields[0]),
                    .reason = Word(fields[1]),
                    .nodes = Word(fields[4]),
                    .user = fields[5],
                    .start = ParseSlurmTime(fields[2]),
                    .end = ParseSlurmTime(fields[3])};
  }
  return last;
}

SlurmConfig ParseSlurmConfig(const std::string& out) {
  SlurmConfig config;
  for (const std::string& line : Lines(out)) {
    std::pair<std::string, std::string> row = absl::StrSplit(line, absl::MaxSplits('=', 1));
    absl::StripAsciiWhitespace(&row.first);
    absl::StripAsciiWhitespace(&row.second);
    if (line.find('=') != std::string::npos) config.insert(std::move(row));
  }
  return config;
}

std::optional<std::int64_t> ParseSlurmTime(const std::string& text) {
  constexpr std::int64_t kFar = std::int64_t{1} << 33;  // the year 2242
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size())
    return seconds > 0 && seconds < kFar ? std::optional(seconds) : std::nullopt;
  std::tm time{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (!rest || *rest != '\0') return std::nullopt;
  time.tm_isdst = -1;
  const std::time_t local = std::mktime(&time);
  return local > 0 ? std::optional<std::int64_t>(local) : std::nullopt;
}

}  // namespace hotplate
