#include "server/wire/status.h"

#include <google/protobuf/any.pb.h>

#include <algorithm>
#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "kernels/base/status.h"
#include "server/workers/call_message.h"

namespace hotplate::wire {
namespace {

constexpr std::size_t kLongestMessage = 1024;
constexpr std::size_t kLongestDescription = 320;
constexpr std::size_t kLongestField = 64;
constexpr std::size_t kMostViolations = 8;

// At most `longest` bytes, not ending inside a UTF-8 character, and without bytes that a text field must not hold.
std::string Cut(std::string text, std::size_t longest) {
  if (text.size() > longest) {
    std::size_t end = longest - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text.resize(end);
    text += "...";
  }
  return text;
}

// The violations to report; the last one counts the omitted ones.
std::vector<FieldViolation> Told(const absl::Status& status) {
  std::vector<FieldViolation> violations = Violations(status);
  if (violations.size() > kMostViolations) {
    const std::size_t more = violations.size() - (kMostViolations - 1);
    violations.resize(kMostViolations - 1);
    violations.push_back({"", "and " + std::to_string(more) + " more"});
  }
  for (FieldViolation& violation : violations) {
    violation.field = Cut(std::move(violation.field), kLongestField);
    violation.description = Cut(std::move(violation.description), kLongestDescription);
  }
  return violations;
}

std::string MessageOf(const absl::Status& status) { return Cut(std::string(status.message()), kLongestMessage); }

}  // namespace

std::optional<double> RetrySeconds(const absl::Status& status) {
  // A request that is wrong stays so; memory may be free in a while.
  for (const FieldViolation& violation : Violations(status)) {
    if (violation.field != "memory") return std::nullopt;
  }
  if (status.code() == absl::StatusCode::kUnavailable || status.code() == absl::StatusCode::kResourceExhausted) {
    return 1.0;
  }
  return std::nullopt;
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  google::rpc::Status full;
  full.set_code(static_cast<int>(status.code()));
  full.set_message(MessageOf(status));
  const std::vector<FieldViolation> violations = Told(status);
  if (!violations.empty()) {
    google::rpc::BadRequest bad;
    for (const FieldViolation& violation : violations) {
      auto& one = *bad.add_field_violations();
      one.set_field(violation.field);
      one.set_description(violation.description);
    }
    full.add_details()->PackFrom(bad);
  }
  if (const std::optional<double> seconds = RetrySeconds(status)) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(static_cast<std::int64_t>(*seconds));
    full.add_details()->PackFrom(retry);
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), full.message(), full.SerializeAsString());
}

absl::Status FromProto(const v1::JobError& error) {
  const auto code = static_cast<absl::StatusCode>(error.code());
  if (error.violations().empty()) return absl::Status(code, ToAbsl(error.message()));
  std::vector<FieldViolation> violations;
  for (const v1::FieldViolation& one : error.violations()) violations.push_back({one.field(), one.description()});
  return Refused(code, violations);
}

v1::JobError ToJobError(const absl::Status& status) {
  v1::JobError error;
  error.set_code(static_cast<int>(status.code()));
  error.set_message(MessageOf(status));
  for (const FieldViolation& violation : Told(status)) {
    v1::FieldViolation& one = *error.add_violations();
    one.set_field(violation.field);
    one.set_description(violation.description);
  }
  if (const std::optional<server::CallError> raised = server::CallErrorOf(status)) {
    v1::CallException& exception = *error.mutable_exception();
    exception.set_type(raised->type);
    exception.set_message(raised->message);
    exception.set_traceback(raised->traceback);
    exception.set_pickle(raised->pickle);
  }
  return error;
}

}  // namespace hotplate::wire
