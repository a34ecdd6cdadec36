// Shared by run, its --pipe, submit and result: from the words to a job that can be sent, and from a result to files
// and text.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/cli/command.h"
#include "client/cli/jobs/job_arguments.h"
#include "client/cli/jobs/job_files.h"

namespace hotplate::cli {

struct PreparedJob {
  client::Client client;
  JobPlan plan;
  JobInputs inputs;  // opened and checked, not yet read
};

// Reports all errors in the command line and the input files before anything is sent, even without a daemon. The
// daemon's spec of the kernel takes precedence over the built-in one.
absl::StatusOr<PreparedJob> PrepareJob(const Invocation& call, const std::vector<OptionSpec>& options);

// The same for an expression: its text, and NAME=INPUT words for the names in it, of which numbers are no arrays.
// `words`: from the text on, with the options.
absl::StatusOr<PreparedJob> PrepareExpression(const Invocation& call, const std::vector<OptionSpec>& options,
                                              const std::vector<std::string>& words);

// The daemon's spec of a kernel, or the built-in one where there is no daemon to ask: then `client` tells why.
absl::StatusOr<v1::KernelSpec> SpecOf(const std::string& kernel, absl::StatusOr<client::Client>& client);

// PrepareJob and PrepareExpression without an invocation: `options` are all that the words may have but the kernel's.
// Without a client the faults of the words are told first.
absl::StatusOr<PreparedJob> PrepareKernel(const v1::KernelSpec& kernel, const std::vector<OptionSpec>& options,
                                          const std::vector<std::string>& words,
                                          absl::StatusOr<client::Client>& client);
absl::StatusOr<PreparedJob> PrepareText(const std::vector<OptionSpec>& options, const std::vector<std::string>& words,
                                        absl::FunctionRef<absl::StatusOr<client::Client>()> connect);

// A usage error where an output and the JSON would both go to standard output.
absl::Status CheckAnswer(const Invocation& call, const JobOutputs& files);

// The outputs that the daemon foretells.
std::vector<std::pair<std::string, Signature>> SignaturesOf(const v1::CheckJobResponse& answer);

// Refuses impossible pictures before the job runs. Only the daemon knows the shapes of the outputs.
absl::Status CheckPictures(PreparedJob& job, const JobOutputs& files);

// Prints the answer of Check. If the job can never run here: an error with the exit code of a real run.
absl::Status DryRun(const Invocation& call, PreparedJob& job);

// A result with its files in place.
struct PlacedResult {
  client::JobResult result;
  std::vector<std::string> names;            // of the outputs: in the spec's order, then those of a newer daemon
  std::map<std::string, std::string> paths;  // of the files, by output
};
absl::StatusOr<PlacedResult> PlaceOutputs(const v1::KernelSpec& kernel, JobOutputs& files, client::JobResult given);

// Writes the outputs' files and prints the answer: files, kept arrays, scalars, summaries; in JSON all of the result.
absl::Status Deliver(const Invocation& call, const v1::KernelSpec& kernel, const std::vector<OutputArgument>& places,
                     JobOutputs& files, client::JobResult given);

}  // namespace hotplate::cli
