// What the daemon says on the wire, as absl::Status: the code and sentence as they are, and the details as payloads
// that EndOf, Violations and RetryAfter of client.h read back.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "hotplate/v1/jobs.pb.h"

namespace hotplate::client {

// The details are those of the grpc-status-details-bin trailer (a google.rpc.Status); broken ones are dropped.
absl::Status FromGrpc(const grpc::Status& status);

// A job that was refused, on a stream.
absl::Status FromJobError(const v1::JobError& error);

// RESOURCE_EXHAUSTED, and of what, in the daemon's words for it: "memory", "message".
absl::Status Exhausted(const std::string& field, const std::string& description);

// OK for COMPLETED. Else the error of a job that began, carrying its id and the end itself: JobIdOf and EndOf.
absl::Status FromJobEnd(const v1::JobEnd& end, const std::string& job_id);

// The same error, carrying the id of the job that it is about: JobIdOf(status). As it is where no id is known.
absl::Status AboutJob(absl::Status status, const std::string& job_id);

// Of a job that COMPLETED and whose outputs did not all come: the same error, naming the job and carrying its id.
// `freed`: they are not on the daemon any more.
absl::Status ResultLost(const absl::Status& status, const std::string& job_id, bool freed);

// The same status, payloads and all, with another sentence.
absl::Status Worded(const absl::Status& status, const std::string& message);

// The same error, of which ConnectionLost says so.
absl::Status MarkedLost(absl::Status status);

// Worth another attempt of the same call: the connection broke or the daemon could not answer.
bool IsConnectionLoss(const absl::Status& status);

}  // namespace hotplate::client
