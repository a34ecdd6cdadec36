#include "kernels/base/status.h"

#include <charconv>
#include <optional>
#include <utility>

#include "absl/strings/cord.h"

namespace hotplate {
namespace {

// The payload: each field and each description as "LENGTH:TEXT", one after the other.
constexpr char kPayload[] = "hotplate/field-violations";

void Append(std::string& encoded, const std::string& text) {
  encoded += std::to_string(text.size());
  encoded += ':';
  encoded += text;
}

// Takes one text off the front of `encoded`.
std::optional<std::string> Take(std::string_view& encoded) {
  std::size_t length = 0;
  const char* const end = encoded.data() + encoded.size();
  const auto [colon, error] = std::from_chars(encoded.data(), end, length);
  if (error != std::errc() || colon == end || *colon != ':') return std::nullopt;
  encoded.remove_prefix(static_cast<std::size_t>(colon - encoded.data()) + 1);
  if (length > encoded.size()) return std::nullopt;
  std::string text(encoded.substr(0, length));
  encoded.remove_prefix(length);
  return text;
}

}  // namespace

absl::Status Refused(absl::StatusCode code, const std::vector<FieldViolation>& violations) {
  std::string message, payload;
  for (const FieldViolation& violation : violations) {
    if (!message.empty()) message += "; ";
    message += violation.description;
    Append(payload, violation.field);
    Append(payload, violation.description);
  }
  absl::Status status(code, ToAbsl(message));
  if (!violations.empty()) status.SetPayload(kPayload, absl::Cord(ToAbsl(payload)));
  return status;
}

absl::Status InvalidField(std::string field, std::string description) {
  std::vector<FieldViolation> violations;
  violations.push_back({std::move(field), std::move(description)});
  return Refused(absl::StatusCode::kInvalidArgument, violations);
}

std::vector<FieldViolation> Violations(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return {};
  const std::string encoded(*payload);
  std::string_view rest = encoded;
  std::vector<FieldViolation> violations;
  while (!rest.empty()) {
    std::optional<std::string> field = Take(rest), description;
    if (field) description = Take(rest);
    if (!description) return {};
    violations.push_back({*std::move(field), *std::move(description)});
  }
  return violations;
}

}  // namespace hotplate
