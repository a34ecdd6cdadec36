// How a command ends: one table from a status's code and a job's state to the exit code, and one way to tell people.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/cli/terminal/console.h"
#include "client/lib/status.h"
#include "hotplate/v1/jobs.pb.h"

namespace hotplate::cli {

// Scripts rely on these numbers: never renumber.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,         // the job FAILED, or tasks of a sweep did
  kExitUsage = 2,          // the command line makes no sense
  kExitNoDaemon = 3,       // no daemon, or the connection was lost
  kExitInvalid = 4,        // refused as invalid, or as more than there can ever be room for
  kExitTryLater = 5,       // refused for now: memory in use, a full queue, a draining daemon
  kExitNotAllowed = 6,     // token, permissions
  kExitTimeout = 7,        // the job's TIMEOUT
  kExitCancelled = 8,      // the job was CANCELLED by somebody else
  kExitScheduler = 9,      // Slurm refused
  kExitInterrupted = 130,  // Ctrl-C
};

// The only table of exit codes. The state of an ended job decides; JOB_STATE_UNSPECIFIED: there was no job.
ExitCode ExitCodeOf(absl::StatusCode code, v1::JobState state);

// The command line makes no sense: exit 2, and a pointer to the command's help.
absl::Status UsageError(const std::string& message);
bool IsUsageError(const absl::Status& status);

// The same status with the command that helps next, shown below the error.
absl::Status WithNextStep(const absl::Status& status, const std::string& next_step);
// The same status, but the program exits with `code` in place of the table's. For facts that only a command knows.
absl::Status WithExitCode(const absl::Status& status, ExitCode code);
using client::Worded;
// Ended by Ctrl-C; `told` says with what effect.
absl::Status Interrupted(const std::string& told);
// The same for an abandoned call, unless it had already failed: then its status, with `more`.
absl::Status Interrupted(const absl::Status& status, const std::string& when_cancelled, const std::string& more);
// Everything has been reported: the program only exits with `code`.
absl::Status Silent(ExitCode code);

// Marks an error that the answer contains already, so that JSON does not repeat it.
absl::Status Answered(const absl::Status& status);

ExitCode ExitCodeOf(const absl::Status& status);

// {"code", "exitCode", "message", "violations", "nextStep", "jobId"}, the last two if there are any.
std::string ErrorMembers(const absl::Status& status);
// {"error": {…}}
std::string ErrorJson(const absl::Status& status);

// Writes "✗ refused: …" with the violations and the next step, unless the status is silent; where answers are JSON the
// error is one, too, on standard output.
void Report(const Console& console, const absl::Status& status);

}  // namespace hotplate::cli
