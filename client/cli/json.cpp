#include "client/cli/json.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "google/protobuf/util/json_util.h"

namespace hotplate::cli {

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) return "{}";  // a text field that is no UTF-8: the printer's only refusal
  return json;
}

namespace {

// The length of the UTF-8 character that begins at `i`; 0 if none does.
std::size_t Utf8Length(const std::string& text, std::size_t i) {
  const auto at = [&text](std::size_t index) {
    return index < text.size() ? static_cast<unsigned char>(text[index]) : 0u;
  };
  const unsigned first = at(i), second = at(i + 1);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((at(i + k) & 0xC0) != 0x80) return 0;
  // Too long a form, a surrogate, or beyond the last character.
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
      (first == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

}  // namespace

std::string JsonText(const std::string& text) {
  std::string json = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = Utf8Length(text, i);
    // Up to U+00BF it is the one byte, or the second behind C2.
    const unsigned point = static_cast<unsigned char>(length == 2 && c == '\xc2' ? text[i + 1] : c);
    if (length == 0) {
      json += "\\ufffd";  // a file's name may be any bytes
    } else if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (point < 0x20 || (point >= 0x7f && point < 0xa0)) {
      std::array<char, 8> escape{};  // a terminal obeys those beyond ASCII, too
      std::snprintf(escape.data(), escape.size(), "\\u%04x", point);
      json += escape.data();
    } else {
      json.append(text, i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  return json + "\"";
}

JsonObject& JsonObject::Raw(const std::string& key, const std::string& json) {
  members_ += (members_.empty() ? "" : ",") + JsonText(key) + ":" + json;
  return *this;
}

std::string JsonArray(const std::vector<std::string>& elements) {
  std::string json = "[";
  for (const std::string& element : elements) json += (json.size() > 1 ? "," : "") + element;
  return json + "]";
}

std::string JsonTexts(const std::vector<std::string>& texts) {
  std::vector<std::string> elements;
  for (const std::string& text : texts) elements.push_back(JsonText(text));
  return JsonArray(elements);
}

}  // namespace hotplate::cli
