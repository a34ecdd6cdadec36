#include "server/journal/json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "kernels/array/quoted.h"

namespace hotplate::journal {
namespace {

// The bytes of the character that `text` begins with; 0 if it begins with none.
std::size_t CharacterBytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return bytes > 0 && bytes <= text.size() && IsUtf8(text.substr(0, bytes)) ? bytes : 0;
}

}  // namespace

std::string JsonString(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const std::size_t bytes = CharacterBytes(text);
    const char first = text.front();
    if (bytes == 0) {
      json += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      json += '\\', json += first;
    } else if (bytes == 1 && static_cast<unsigned char>(first) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(first));
      json += escaped;
    } else {
      json += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return json + "\"";
}

JsonObject& JsonObject::Raw(std::string_view key, std::string_view json) {
  if (text_.size() > 1) text_ += ',';
  text_ += JsonString(key);
  text_ += ':';
  text_ += json;
  return *this;
}

JsonObject& JsonObject::Real(std::string_view key, double value) {
  if (!std::isfinite(value)) return Raw(key, "null");
  char digits[32];
  const auto written = std::to_chars(digits, digits + sizeof digits, value);
  return Raw(key, std::string_view(digits, static_cast<std::size_t>(written.ptr - digits)));
}

}  // namespace hotplate::journal
