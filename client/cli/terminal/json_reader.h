// Reads JSON that somebody else wrote. Numbers stay texts, so that they keep their digits and their form: 3 is not 3.0.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate::cli {

struct JsonValue {
  enum class Kind { kNull, kBool, kNumber, kText, kObject, kArray };
  Kind kind = Kind::kNull;
  std::string text;                                        // of a bool, a number or a text
  std::vector<std::pair<std::string, JsonValue>> members;  // of an object, in order; each name once
};

// "a number", "an object"
std::string KindName(JsonValue::Kind kind);

// One object, with the objects that are its members. What lies deeper, and the elements of arrays, are checked and
// dropped. INVALID_ARGUMENT says where it is no JSON; `read` then has the members before that place.
absl::Status ReadJsonObject(std::string_view text, JsonValue& read);

}  // namespace hotplate::cli
