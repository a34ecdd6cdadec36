#include "server/slurm/slurm_command.h"

#include "kernels/array/quoted.h"
#include "kernels/base/run_program.h"
#include "kernels/base/status.h"
#include "server/config.h"

namespace hotplate::server {

absl::StatusOr<std::string> RunSlurm(const std::vector<std::string>& words, const std::stop_token& stop) {
  const absl::StatusOr<ProgramResult> end =
      RunProgram({.words = words,
                  // Not the siblings of a federation.
                  .environment = {{"SLURM_TIME_FORMAT", "%s"}, {"SQUEUE_LOCAL", "1"}},
                  .without = {"SQUEUE_*", "SLURM_CLUSTERS"},
                  .timeout = std::chrono::seconds(20),
                  .stop = stop},
                 Surroundings::OfThisProcess().environment);
  if (!end.ok()) return end.status();
  if (end->exit_code == 0) return end->out;
  return absl::UnavailableError(
      ToAbsl(words[0] + " ended with status " + std::to_string(end->exit_code) + " and said " + QuotedStart(end->err)));
}

std::string QuotedStart(std::string_view said) {
  constexpr std::size_t kLongest = 200;
  while (said.ends_with('\n') || said.ends_with('\r')) said.remove_suffix(1);
  return Quoted(std::string(said.substr(0, kLongest)));
}

}  // namespace hotplate::server
