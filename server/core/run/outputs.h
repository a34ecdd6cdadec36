// Where the outputs of a job go that has completed.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "server/core/arrays/arrays.h"
#include "server/core/jobs/jobs.h"
#include "server/core/schedule/sessions.h"

namespace hotplate::core {

// The bytes of the arrays that PlaceOutputs will make, as far as that is known before the job has run: an output that
// may be smaller than planned counts as nothing.
std::uint64_t ArrayBytesOf(const BoundJob& bound, std::uint64_t inline_bytes);

// Makes arrays of the outputs that shall be, or are together larger than `inline_bytes`. `owned` gets those that go
// with the job. On an error there are none.
absl::Status PlaceOutputs(Job& job, const Jobs::Standing& standing, std::uint64_t inline_bytes,
                          const Sessions& sessions, ArrayStore& arrays, std::vector<JobOutputValue>& outputs,
                          std::vector<ArrayId>& owned);

// Writes the outputs that go to files, all of them before the first takes its place. CANCELLED where `control` asks for
// it meanwhile.
absl::Status WriteFiles(const BoundJob& bound, TaskControl& control, std::vector<JobOutputValue>& outputs);

}  // namespace hotplate::core
