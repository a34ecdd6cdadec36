// From a request that was bound to its kernel to a job that can be submitted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/core/jobs/job.h"

namespace hotplate::core {

// `inline_bytes`: results that are together not larger come back inline, others as arrays.
// One that cannot be bound yet has its spec alone in `bound`, and may be bound later, before it is queued.
std::shared_ptr<Job> MakeJob(const Principal& who, const JobRequest& request, BoundJob bound, std::string request_key,
                             std::uint64_t inline_bytes);
void SetBound(Job& job, BoundJob bound);

}  // namespace hotplate::core
