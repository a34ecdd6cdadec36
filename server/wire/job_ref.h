// References to other jobs, as requests have them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hotplate/v1/jobs.pb.h"
#include "server/core/types.h"

namespace hotplate::wire {

// INVALID_ARGUMENT for one that names no job.
absl::StatusOr<core::JobRef> FromProto(const v1::JobRef& ref, const std::string& field);
absl::StatusOr<std::vector<core::JobRef>> FromProto(const google::protobuf::RepeatedPtrField<v1::JobRef>& after);

bool DependsOnOthers(const v1::JobSpec& spec);
// The references of a job that is written down, to be understood by daemons to come: INVALID_ARGUMENT for a request id,
// which they may not know.
absl::Status CheckById(const core::JobRequest& request);

}  // namespace hotplate::wire
