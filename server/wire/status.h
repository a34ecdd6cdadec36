// Errors on the wire: canonical code, sentence, and google.rpc details (field violations, when to retry). Everything is
// cut to fit into trailing metadata: clients refuse more than 8 KiB of it.
#pragma once

#include <grpcpp/support/status.h>

#include <optional>

#include "absl/status/status.h"
#include "hotplate/v1/jobs.pb.h"

namespace hotplate::wire {

grpc::Status ToGrpc(const absl::Status& status);

// The same for one job of a stream.
v1::JobError ToJobError(const absl::Status& status);
// As it was written down.
absl::Status FromProto(const v1::JobError& error);

// How long to wait before trying again, where trying again can help.
std::optional<double> RetrySeconds(const absl::Status& status);

}  // namespace hotplate::wire
