// A number in place of an input file: `hotplate run vector_add i.npy 5`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/jobs/job_arguments.h"
#include "client/lib/client.h"
#include "kernels/array/host_buffer.h"

namespace hotplate::cli {

// "5", "-2.5", "1e6"; not the name of a file, unless it is written as ./5.
bool IsScalarWord(const std::string& word);

// Gives every number among the inputs its dtype: that of other inputs that must have the same type, else int64 or
// float64, depending on how it is written. INVALID_ARGUMENT if the dtype cannot hold the number. If `client` has
// failed, the types of arrays on the daemon are unknown.
absl::Status TypeScalars(const v1::KernelSpec& kernel, absl::StatusOr<client::Client>& client,
                         std::vector<InputArgument>& inputs);

// An array without dimensions that holds it. Of an input that TypeScalars has accepted.
std::shared_ptr<HostBuffer> ScalarBuffer(const InputArgument& input);

}  // namespace hotplate::cli
