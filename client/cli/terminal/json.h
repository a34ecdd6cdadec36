// JSON, by the rules of client/docs/json.md: times, counts and bytes are numbers, ids and seeds texts. Protobuf's own
// printer makes texts of all 64-bit numbers, of durations and of points in time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace hotplate::cli {

// camelCase names, default-valued fields too, in one line. Durations are seconds, points in time seconds since 1970.
std::string ToJson(const google::protobuf::Message& message);

std::string JsonNumber(double value);  // JSON has no NaN and no infinity: they become texts

std::string JsonText(const std::string& text);  // quoted and escaped

// {"key": …} in the order of the calls.
class JsonObject {
 public:
  JsonObject() = default;
  // With the members of an object.
  explicit JsonObject(const std::string& object) : members_(object.substr(1, object.size() - 2)) {}
  JsonObject& Raw(const std::string& key, const std::string& json);
  JsonObject& Count(const std::string& key, std::int64_t number) { return Raw(key, std::to_string(number)); }
  JsonObject& Text(const std::string& key, const std::string& text) { return Raw(key, JsonText(text)); }
  std::string Json() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

std::string JsonArray(const std::vector<std::string>& elements);  // of JSON
std::string JsonTexts(const std::vector<std::string>& texts);     // an array of them

}  // namespace hotplate::cli
