// Inputs that other jobs make: job:12, or job:12.u where job 12 has more than one output.
#pragma once

#include <string>
#include <vector>

#include "client/cli/jobs/job_arguments.h"

namespace hotplate::cli {

// "12.u" as a job's id and the name of an output, which is empty where the words leave it out.
InputArgument JobOutputInput(const std::string& name, const std::string& text);

// A kernel with the outputs of a job of an expression, which its text names.
v1::KernelSpec SpecOfExpression(const v1::Job& job);

// Asks the daemon for the outputs of jobs that have one alone. INVALID_ARGUMENT, with their names, for one that has
// several.
absl::Status NameJobOutputs(client::Client& client, std::vector<InputArgument>& inputs);

}  // namespace hotplate::cli
