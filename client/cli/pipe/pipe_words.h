// The command line of hotplate run --pipe: its options, and the refusal of words that belong into the lines.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/command.h"

namespace hotplate::cli {

// --pipe and what belongs to it.
std::vector<OptionSpec> PipeOptions();

// Whether `words` ask for it.
bool AsksForPipe(const std::vector<std::string>& words);
// A usage error if an option is among `words` that only goes with --pipe.
absl::Status CheckWithoutPipe(const std::vector<std::string>& words);

// How many jobs may be in flight. A usage error names any other word or option that is there.
absl::StatusOr<std::size_t> MostInFlight(const Invocation& call);

}  // namespace hotplate::cli
