// The daemon's statuses as absl::Status: code and sentence unchanged, and details as payloads, which EndOf, Violations
// and RetryAfter of client.h read back.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hotplate/v1/jobs.pb.h"

namespace hotplate::client {

// Details come from the grpc-status-details-bin trailer (a google.rpc.Status); broken ones are dropped.
absl::Status FromGrpc(const grpc::Status& status);

// The refusal of a job on a stream.
absl::Status FromJobError(const v1::JobError& error);

// RESOURCE_EXHAUSTED. `field` is the daemon's word for the resource: "memory", "message".
absl::Status Exhausted(const std::string& field, const std::string& description);

// OK for COMPLETED. Otherwise the error of a job that began, with its id and end as payloads: JobIdOf and EndOf.
absl::Status FromJobEnd(const v1::JobEnd& end, const std::string& job_id);

// The same error with the job's id as a payload: JobIdOf(status). Unchanged if the id is unknown.
absl::Status AboutJob(absl::Status status, const std::string& job_id);

// The error of a download of a job that COMPLETED, with the job's name in the text and its id as a payload. `freed`:
// the outputs are not on the daemon any more.
absl::Status ResultLost(const absl::Status& status, const std::string& job_id, bool freed);

// The same status with its payloads, but another sentence.
absl::Status Worded(const absl::Status& status, const std::string& message);

// The same error, marked for ConnectionLost.
absl::Status MarkedLost(absl::Status status);

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Whether a daemon that was started anew refused a call because it does not have its subject, usually an array.
bool WentWithTheDaemon(const absl::Status& status);
// The same error, with what a client says of it that has gone over to another start.
absl::Status MovedOn(const absl::Status& status);

// True if the same call is worth another attempt: the connection broke or the daemon could not answer.
bool IsConnectionLoss(const absl::Status& status);

}  // namespace hotplate::client
