// JSON: messages by protobuf's own printer, and objects that put several of them together.
#pragma once

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace hotplate::cli {

// camelCase names, default-valued fields too, 64-bit integers as strings, in one line.
std::string ToJson(const google::protobuf::Message& message);

std::string JsonText(const std::string& text);  // quoted and escaped

// {"key": …} in the order of the calls.
class JsonObject {
 public:
  JsonObject& Raw(const std::string& key, const std::string& json);
  JsonObject& Text(const std::string& key, const std::string& text) { return Raw(key, JsonText(text)); }
  std::string Json() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

std::string JsonArray(const std::vector<std::string>& elements);  // of JSON
std::string JsonTexts(const std::vector<std::string>& texts);     // an array of them

}  // namespace hotplate::cli
