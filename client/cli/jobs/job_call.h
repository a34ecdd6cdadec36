// Shared by run, submit and result: from the words to a job that can be sent, and from a result to files and text.
#pragma once

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

// "hotplate describe matmul"
std::string WhereDescribed(const v1::KernelSpec& kernel);

// A usage error where an output and the JSON would both go to standard output.
absl::Status CheckAnswer(const Invocation& call, const JobOutputs& files);

// A refusal as it is. UNAVAILABLE by the daemon's own word is a refusal for now (it drains), not a lost connection; an
// error of a job that ended keeps its state.
absl::Status Settled(const absl::Status& status);

// A refusal that speaks of inputs by the spec's names, with the files that were given for them: "b (v.npy) is …".
absl::Status NamingFiles(const absl::Status& status, const std::vector<InputArgument>& inputs);

// Prints the answer of Check. If the job can never run here: an error with the exit code of a real run.
absl::Status DryRun(const Invocation& call, PreparedJob& job);

// Writes the outputs' files and prints the answer: files, kept arrays, scalars, summaries; in JSON all of the result.
absl::Status Deliver(const Invocation& call, const v1::KernelSpec& kernel, const std::vector<OutputArgument>& places,
                     JobOutputs& files, client::JobResult result);

}  // namespace hotplate::cli
