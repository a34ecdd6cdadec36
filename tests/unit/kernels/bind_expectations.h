// What a refused binding says, as tests compare it.
#pragma once

#include <string>
#include <vector>

#include "kernels/base/status.h"
#include "kernels/spec/spec.h"

namespace hotplate {

// "FIELD | SENTENCE" for each violation; "accepted" where there was none to be had.
inline std::vector<std::string> Complaints(const absl::StatusOr<BoundCall>& call) {
  if (call.ok()) return {"accepted"};
  std::vector<std::string> complaints;
  if (call.status().code() != absl::StatusCode::kInvalidArgument) complaints.push_back(call.status().ToString());
  for (const FieldViolation& violation : Violations(call.status())) {
    complaints.push_back(violation.field + " | " + violation.description);
  }
  return complaints;
}

}  // namespace hotplate
