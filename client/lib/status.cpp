#include "client/lib/status.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "client/lib/client.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace hotplate::client {
namespace {

constexpr char kBadRequest[] = "type.googleapis.com/google.rpc.BadRequest";
constexpr char kRetryInfo[] = "type.googleapis.com/google.rpc.RetryInfo";
constexpr char kJobEnd[] = "type.googleapis.com/hotplate.v1.JobEnd";
// Never on the wire: the plain job id.
constexpr char kJobId[] = "hotplate.job_id";
constexpr char kLost[] = "hotplate.connection_lost";
constexpr std::size_t kMaxDetails = 16;

absl::string_view ToAbsl(const std::string& text) { return {text.data(), text.size()}; }

// Numbers are the same in gRPC, google.rpc and absl. An unknown one, from a newer daemon, becomes UNKNOWN.
absl::StatusCode CodeFromNumber(int code) {
  return code >= 0 && code <= 16 ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown;
}

template <typename Message>
std::optional<Message> Payload(const absl::Status& status, const char* type_url) {
  const auto cord = status.GetPayload(type_url);
  Message message;
  if (!cord.has_value() || !message.ParseFromString(std::string(*cord))) return std::nullopt;
  return message;
}

void SetPayload(absl::Status& status, const char* type_url, const google::protobuf::Message& message) {
  status.SetPayload(type_url, absl::Cord(message.SerializeAsString()));
}

absl::StatusCode CodeOfEnd(const v1::JobEnd& end) {
  const absl::StatusCode code = CodeFromNumber(end.error().code());
  if (code != absl::StatusCode::kOk) return code;
  switch (end.state()) {
    case v1::CANCELLED:
      return absl::StatusCode::kCancelled;
    case v1::TIMEOUT:
      return absl::StatusCode::kDeadlineExceeded;
    default:
      return absl::StatusCode::kUnknown;
  }
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  std::string message = status.error_message();
  if (message.empty() && status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    // gRPC's answer to a message that it cannot take apart.
    message = "the daemon cannot read the request: it is of another version, or a name in it is not UTF-8";
  }
  absl::Status converted(CodeFromNumber(status.error_code()), ToAbsl(message));
  google::rpc::Status details;
  if (status.error_details().empty() || !details.ParseFromString(status.error_details())) return converted;
  std::size_t count = 0;
  for (const google::protobuf::Any& any : details.details()) {
    if (++count > kMaxDetails) break;
    converted.SetPayload(ToAbsl(any.type_url()), absl::Cord(any.value()));
  }
  return converted;
}

absl::Status FromJobError(const v1::JobError& error) {
  absl::StatusCode code = CodeFromNumber(error.code());
  if (code == absl::StatusCode::kOk) code = absl::StatusCode::kUnknown;
  absl::Status status(code, ToAbsl(error.message()));
  if (error.violations().empty()) return status;
  google::rpc::BadRequest bad_request;
  for (const v1::FieldViolation& violation : error.violations()) {
    auto* to = bad_request.add_field_violations();
    to->set_field(violation.field());
    to->set_description(violation.description());
  }
  SetPayload(status, kBadRequest, bad_request);
  return status;
}

absl::Status Exhausted(const std::string& field, const std::string& description) {
  v1::JobError error;
  error.set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
  error.set_message(description);
  v1::FieldViolation& violation = *error.add_violations();
  violation.set_field(field);
  violation.set_description(description);
  return FromJobError(error);
}

absl::Status FromJobEnd(const v1::JobEnd& end, const std::string& job_id) {
  if (end.state() == v1::COMPLETED) return absl::OkStatus();
  v1::JobError error = end.error();
  error.set_code(static_cast<int>(CodeOfEnd(end)));
  if (error.message().empty()) error.set_message("job " + job_id + " ended " + v1::JobState_Name(end.state()));
  absl::Status status = FromJobError(error);
  SetPayload(status, kJobEnd, end);
  return AboutJob(std::move(status), job_id);
}

absl::Status AboutJob(absl::Status status, const std::string& job_id) {
  if (!status.ok() && !job_id.empty()) status.SetPayload(kJobId, absl::Cord(ToAbsl(job_id)));
  return status;
}

absl::Status ResultLost(const absl::Status& status, const std::string& job_id, bool freed) {
  std::string text = "job " + job_id + " COMPLETED, and its result did not come: " + std::string(status.message());
  if (freed) {
    text += "; it was freed";
  } else if (!absl::IsNotFound(status)) {
    text += "; while the daemon has it: hotplate result " + job_id + " -o FILE";
  }
  return AboutJob(Worded(status, text), job_id);
}

absl::Status Worded(const absl::Status& status, const std::string& message) {
  absl::Status worded(status.code(), ToAbsl(message));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) { worded.SetPayload(type, payload); });
  return worded;
}

absl::Status MarkedLost(absl::Status status) {
  status.SetPayload(kLost, absl::Cord());
  return status;
}

bool WentWithTheDaemon(const absl::Status& status) { return absl::IsNotFound(status) && !EndOf(status); }

absl::Status MovedOn(const absl::Status& status) {
  if (status.message().find("array") == absl::string_view::npos) return status;
  return Worded(status,
                std::string(status.message()) +
                    "; the daemon was started anew since this client connected, and an array outlives its daemon "
                    "only with a name and a lease");
}

bool ConnectionLost(const absl::Status& status) { return status.GetPayload(kLost).has_value(); }

bool IsConnectionLoss(const absl::Status& status) { return absl::IsUnavailable(status); }

std::optional<v1::JobEnd> EndOf(const absl::Status& status) { return Payload<v1::JobEnd>(status, kJobEnd); }

std::string JobIdOf(const absl::Status& status) {
  const auto cord = status.GetPayload(kJobId);
  return cord.has_value() ? std::string(*cord) : std::string();
}

std::vector<v1::FieldViolation> Violations(const absl::Status& status) {
  std::vector<v1::FieldViolation> violations;
  const auto bad_request = Payload<google::rpc::BadRequest>(status, kBadRequest);
  if (!bad_request) return violations;
  for (const auto& from : bad_request->field_violations()) {
    v1::FieldViolation& violation = violations.emplace_back();
    violation.set_field(from.field());
    violation.set_description(from.description());
  }
  return violations;
}

std::optional<nanoseconds> RetryAfter(const absl::Status& status) {
  const auto info = Payload<google::rpc::RetryInfo>(status, kRetryInfo);
  if (!info || !info->has_retry_delay()) return std::nullopt;
  // A day is longer than any wait that makes sense, and keeps the sum in range.
  constexpr std::int64_t kLongest = 86'400;
  const std::int64_t seconds = std::clamp<std::int64_t>(info->retry_delay().seconds(), 0, kLongest);
  return std::chrono::seconds(seconds) + nanoseconds(std::clamp(info->retry_delay().nanos(), 0, 999'999'999));
}

}  // namespace hotplate::client
