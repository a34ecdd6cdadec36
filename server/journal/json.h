// The little JSON that the journal writes: manifests and export lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hotplate::journal {

// Text as a JSON string, with its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

// An object on one line, or an array's element: fields in the order in which they were added.
class JsonObject {
 public:
  JsonObject& Text(std::string_view key, std::string_view value) { return Raw(key, JsonString(value)); }
  JsonObject& Number(std::string_view key, std::int64_t value) { return Raw(key, std::to_string(value)); }
  JsonObject& Number(std::string_view key, std::uint64_t value) { return Raw(key, std::to_string(value)); }
  JsonObject& Bool(std::string_view key, bool value) { return Raw(key, value ? "true" : "false"); }
  JsonObject& Real(std::string_view key, double value);
  // `json` is a value already.
  JsonObject& Raw(std::string_view key, std::string_view json);
  std::string Str() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

}  // namespace hotplate::journal
