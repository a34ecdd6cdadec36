#include "client/cli/json.h"

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

std::string JsonText(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      json += escape.data();
    } else {
      json += c;
    }
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

}  // namespace hotplate::cli
