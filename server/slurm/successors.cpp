#include "server/slurm/successors.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace hotplate::server {
namespace {

// "afterany:17(unfulfilled),afterok:18"
bool WaitsFor(absl::string_view dependency, const std::string& job) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::string wanted = ":" + job;
  for (std::size_t at = dependency.find(wanted); at != absl::string_view::npos; at = dependency.find(wanted, at + 1)) {
    const std::size_t end = at + wanted.size();
    if (end == dependency.size() || !is_digit(dependency[end])) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> SuccessorsIn(const std::string& squeue, const std::string& name, const std::string& job) {
  std::vector<std::string> chain = {job};
  for (std::size_t i = 0; i < chain.size(); ++i) {
    for (const absl::string_view line : absl::StrSplit(squeue, '\n', absl::SkipWhitespace())) {
      const std::vector<std::string> row = absl::StrSplit(line, '|');
      if (row.size() != 3 || row[1] != name || !WaitsFor(row[2], chain[i])) continue;
      if (std::find(chain.begin(), chain.end(), row[0]) == chain.end()) chain.push_back(row[0]);
    }
  }
  chain.erase(chain.begin());
  return chain;
}

absl::StatusOr<std::vector<std::string>> FindSuccessors(const SlurmCommands& slurm, const std::string& name,
                                                        const std::string& job) {
  const absl::StatusOr<ProgramResult> waiting =
      slurm.Ask("squeue", {"--noheader", absl::StrCat("--user=", geteuid()), "--states=PENDING", "--format=%A|%j|%E"});
  if (!waiting.ok()) return waiting.status();
  return SuccessorsIn(waiting->out, name, job);
}

absl::StatusOr<std::vector<std::string>> CancelSuccessors(const SlurmCommands& slurm, const std::string& name,
                                                          const std::string& job) {
  absl::StatusOr<std::vector<std::string>> jobs = FindSuccessors(slurm, name, job);
  if (!jobs.ok() || jobs->empty()) return jobs;
  const absl::StatusOr<ProgramResult> done = slurm.Run("scancel", *jobs);
  if (!done.ok()) return done.status();
  if (done->exit_code != 0) {
    return absl::UnavailableError(absl::StrCat("scancel ", absl::StrJoin(*jobs, " "), ": ", done->err));
  }
  return jobs;
}

}  // namespace hotplate::server
