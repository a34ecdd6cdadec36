#include "client/cli/ending.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "absl/strings/cord.h"
#include "client/cli/terminal/json.h"
#include "client/lib/client.h"

namespace hotplate::cli {
namespace {

constexpr char kUsage[] = "hotplate/cli.usage";
constexpr char kNextStep[] = "hotplate/cli.next-step";
constexpr char kExitCode[] = "hotplate/cli.exit-code";
constexpr char kSilent[] = "hotplate/cli.silent";
constexpr char kAnswered[] = "hotplate/cli.answered";

std::optional<std::string> Payload(const absl::Status& status, const char* key) {
  const auto payload = status.GetPayload(key);
  if (!payload) return std::nullopt;
  return std::string(*payload);
}

absl::Status With(absl::Status status, const char* key, const std::string& value) {
  status.SetPayload(key, absl::Cord(value));
  return status;
}

// Every line after the first one further in, so that an error reads as one thing.
std::string Indented(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

}  // namespace

ExitCode ExitCodeOf(absl::StatusCode code, v1::JobState state) {
  switch (state) {
    case v1::COMPLETED:
      return kExitOk;
    case v1::FAILED:
      return kExitFailed;
    case v1::TIMEOUT:
      return kExitTimeout;
    case v1::CANCELLED:
      return kExitCancelled;
    default:
      break;
  }
  switch (code) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kCancelled:
      return kExitCancelled;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return kExitInvalid;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
      return kExitTryLater;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kExitNotAllowed;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kDataLoss:
      return kExitNoDaemon;
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
    default:
      return kExitFailed;
  }
}

absl::Status UsageError(const std::string& message) { return With(absl::InvalidArgumentError(message), kUsage, ""); }

bool IsUsageError(const absl::Status& status) { return Payload(status, kUsage).has_value(); }

absl::Status WithNextStep(const absl::Status& status, const std::string& next_step) {
  return status.ok() ? status : With(status, kNextStep, next_step);
}

absl::Status WithExitCode(const absl::Status& status, ExitCode code) {
  return status.ok() ? status : With(status, kExitCode, std::to_string(code));
}

absl::Status Interrupted(const std::string& told) {
  return WithExitCode(absl::CancelledError("interrupted: " + told), kExitInterrupted);
}

absl::Status Interrupted(const absl::Status& status, const std::string& when_cancelled, const std::string& more) {
  return Interrupted((absl::IsCancelled(status) ? when_cancelled : std::string(status.message())) + more);
}

absl::Status Silent(ExitCode code) {
  if (code == kExitOk) return absl::OkStatus();
  return With(WithExitCode(absl::UnknownError("reported already"), code), kSilent, "");
}

namespace {

// A limit that the request itself is beyond: the daemon names the field. Want of memory comes and goes.
bool IsBeyondALimit(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return false;
  const std::vector<v1::FieldViolation> violations = client::Violations(status);
  return std::any_of(violations.begin(), violations.end(),
                     [](const v1::FieldViolation& violation) { return violation.field() != "memory"; });
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  if (const auto code = Payload(status, kExitCode)) return static_cast<ExitCode>(std::atoi(code->c_str()));
  if (IsUsageError(status)) return kExitUsage;
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
  if (!status.ok())
    if (const auto end = client::EndOf(status)) state = end->state();
  if (state == v1::JOB_STATE_UNSPECIFIED && IsBeyondALimit(status)) return kExitInvalid;
  return ExitCodeOf(status.code(), state);
}

absl::Status Answered(const absl::Status& status) { return status.ok() ? status : With(status, kAnswered, ""); }

std::string ErrorMembers(const absl::Status& status) {
  std::vector<std::string> violations;
  for (const v1::FieldViolation& violation : client::Violations(status)) violations.push_back(ToJson(violation));
  JsonObject error;
  error.Text("code", absl::StatusCodeToString(status.code()))
      .Count("exitCode", ExitCodeOf(status))
      .Text("message", std::string(status.message()))
      .Raw("violations", JsonArray(violations));
  if (const auto next = Payload(status, kNextStep)) error.Text("nextStep", *next);
  if (const std::string id = client::JobIdOf(status); !id.empty()) error.Text("jobId", id);
  return error.Json();
}

std::string ErrorJson(const absl::Status& status) { return JsonObject().Raw("error", ErrorMembers(status)).Json(); }

void Report(const Console& console, const absl::Status& status) {
  if (status.ok() || Payload(status, kSilent)) return;
  if (console.json && !Payload(status, kAnswered)) console.out << ErrorJson(status) << std::endl;
  const ExitCode code = ExitCodeOf(status);
  std::string message(status.message());
  if (message.empty()) message = absl::StatusCodeToString(status.code());
  const bool refused = code == kExitInvalid || code == kExitTryLater || code == kExitNotAllowed;
  std::string text =
      Paint(console.err_colour, Tone::kBad, refused ? "✗ refused: " : "✗ ") + Indented(Printable(message)) + "\n";
  for (const v1::FieldViolation& violation : client::Violations(status)) {
    std::string told = violation.description();
    if (told.ends_with("...")) told.resize(told.size() - 3);  // of a long one the daemon sends the beginning
    if (message.find(told) == std::string::npos)
      text += "  " + Printable(violation.field() + ": " + violation.description()) + "\n";
  }
  if (const auto next = Payload(status, kNextStep)) text += "  " + Indented(*next) + "\n";
  console.err << Fitted(text, console.err_terminal ? console.width : 0) << std::flush;
}

}  // namespace hotplate::cli
