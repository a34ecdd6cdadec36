// Slurm's own commands, asked about this node's cluster, regardless of the cluster or format that the user's shell
// prefers.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate::server {

// The output of the command, with times as seconds since 1970. UNAVAILABLE: it failed, in its own words; else as
// RunProgram.
absl::StatusOr<std::string> RunSlurm(const std::vector<std::string>& words, const std::stop_token& stop);

// The beginning of a command's output, in quotes.
std::string QuotedStart(std::string_view said);

}  // namespace hotplate::server
