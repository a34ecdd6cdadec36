// The jobs of `hotplate up --follow-on`, which wait in the queue until this daemon's job has ended.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/slurm.h"

namespace hotplate::server {

// Of squeue's lines "ID|NAME|DEPENDENCY" those jobs of that name that wait for `job`, and those that wait for these.
std::vector<std::string> SuccessorsIn(const std::string& squeue, const std::string& name, const std::string& job);

// The waiting jobs that will run this daemon's name after this job.
absl::StatusOr<std::vector<std::string>> FindSuccessors(const SlurmCommands& slurm, const std::string& name,
                                                        const std::string& job);
// Cancels them, and returns them.
absl::StatusOr<std::vector<std::string>> CancelSuccessors(const SlurmCommands& slurm, const std::string& name,
                                                          const std::string& job);

}  // namespace hotplate::server
