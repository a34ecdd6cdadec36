// absl::Status for bad input: every refusal names the field, and the fields can be read back from the status.
// Debian builds absl without the std aliases, so std::string_view crosses here and nowhere else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hotplate {

inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToStd(absl::string_view text) { return {text.data(), text.size()}; }

// One thing wrong with a request: "params.alpha" and a sentence with the offending value.
struct FieldViolation {
  std::string field;
  std::string description;
};

// A status of `code` with the violations attached; its message consists of their sentences.
absl::Status Refused(absl::StatusCode code, const std::vector<FieldViolation>& violations);
// The same for one violation and INVALID_ARGUMENT.
absl::Status InvalidField(std::string field, std::string description);

// The violations that a status carries; empty for any other status.
std::vector<FieldViolation> Violations(const absl::Status& status);

}  // namespace hotplate
