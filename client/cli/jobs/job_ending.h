// The errors of a job with files, in the words of run and submit: what was refused, lost, or could not be written.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/jobs/job_arguments.h"
#include "client/cli/jobs/job_files.h"

namespace hotplate::cli {

// "hotplate describe matmul"
std::string WhereDescribed(const v1::KernelSpec& kernel);

// A refusal as it is. UNAVAILABLE by the daemon's own word is a refusal for now (it drains), not a lost connection; an
// error of a job that ended keeps its state.
absl::Status Settled(const absl::Status& status);

// A refusal that speaks of inputs by the spec's names, with the files that were given for them: "b (v.npy) is …".
absl::Status NamingFiles(const absl::Status& status, const std::vector<InputArgument>& inputs);

// The files of a job will not do.
absl::Status NotRun(const absl::Status& status, const v1::KernelSpec& kernel);
// The job has done its part; its files could not be written.
absl::Status NotDelivered(const absl::Status& status, const JobPlan& plan, const std::string& job_id);
// The job was refused, lost, or came to another end than COMPLETED, `waited` after it was sent.
absl::Status NotCompleted(const absl::Status& status, const JobPlan& plan, const JobOutputs& files, nanoseconds waited);

}  // namespace hotplate::cli
