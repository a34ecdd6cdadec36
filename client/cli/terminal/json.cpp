#include "client/cli/terminal/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "client/cli/terminal/format.h"
#include "hotplate/v1/types.pb.h"

namespace hotplate::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Whole numbers that only identify things: nobody adds them up, and programs that read all numbers as doubles would
// change them.
bool IsName(const std::string& field) { return field == "seed" || field == "tag"; }

std::string Quotes(const std::string& text, bool wanted) { return wanted ? "\"" + text + "\"" : text; }

// A Timestamp or a Duration: "1795292833.25". Both have the same fields.
std::string Seconds(const Message& message) {
  const auto* descriptor = message.GetDescriptor();
  const auto& reflection = *message.GetReflection();
  const std::int64_t seconds = reflection.GetInt64(message, descriptor->FindFieldByName("seconds"));
  const std::int32_t nanos = reflection.GetInt32(message, descriptor->FindFieldByName("nanos"));
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%s%lld.%09d", seconds < 0 || nanos < 0 ? "-" : "",
                static_cast<long long>(std::abs(seconds)), std::abs(nanos));
  std::string number = text.data();
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
  return number;
}

// One value of a field; `index` in a repeated one, else -1.
class FieldValue {
 public:
  FieldValue(const Message& message, const FieldDescriptor& field, int index = -1)
      : message_(message), reflection_(*message.GetReflection()), field_(field), index_(index) {}

  // `of_a_name`: the value of something that IsName.
  std::string Json(bool of_a_name) const {
    const bool quoted = of_a_name || IsName(field_.name());
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return Quotes(std::to_string(Get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32)), quoted);
      case FieldDescriptor::CPPTYPE_INT64:
        return Quotes(std::to_string(Get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64)), quoted);
      case FieldDescriptor::CPPTYPE_UINT32:
        return Quotes(std::to_string(Get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32)), quoted);
      case FieldDescriptor::CPPTYPE_UINT64:
        return Quotes(std::to_string(Get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64)), quoted);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return JsonNumber(Get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return JsonNumber(static_cast<double>(Get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat)));
      case FieldDescriptor::CPPTYPE_BOOL:
        return Get(&Reflection::GetBool, &Reflection::GetRepeatedBool) ? "true" : "false";
      case FieldDescriptor::CPPTYPE_ENUM: {
        // A number for one that only a newer daemon knows.
        const int number = Get(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue);
        const auto* value = field_.enum_type()->FindValueByNumber(number);
        return value ? JsonText(value->name()) : std::to_string(number);
      }
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string text = index_ < 0 ? reflection_.GetString(message_, &field_)
                                            : reflection_.GetRepeatedString(message_, &field_, index_);
        return JsonText(field_.type() == FieldDescriptor::TYPE_BYTES ? absl::Base64Escape(text) : text);
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        break;
    }
    return MessageJson(SubMessage(), of_a_name);
  }

  const Message& SubMessage() const {
    return index_ < 0 ? reflection_.GetMessage(message_, &field_)
                      : reflection_.GetRepeatedMessage(message_, &field_, index_);
  }

  static std::string MessageJson(const Message& message, bool of_a_name);

 private:
  using Reflection = google::protobuf::Reflection;

  template <typename T>
  T Get(T (Reflection::*one)(const Message&, const FieldDescriptor*) const,
        T (Reflection::*repeated)(const Message&, const FieldDescriptor*, int) const) const {
    return index_ < 0 ? (reflection_.*one)(message_, &field_) : (reflection_.*repeated)(message_, &field_, index_);
  }

  const Message& message_;
  const Reflection& reflection_;
  const FieldDescriptor& field_;
  const int index_;
};

std::string MapJson(const Message& message, const FieldDescriptor& field) {
  const auto& key = *field.message_type()->FindFieldByName("key");
  const auto& value = *field.message_type()->FindFieldByName("value");
  std::map<std::string, std::string> sorted;  // it has no order of its own
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
    const Message& entry = FieldValue(message, field, i).SubMessage();
    const std::string name = entry.GetReflection()->GetString(entry, &key);
    sorted[name] = FieldValue(entry, value).Json(IsName(name));
  }
  JsonObject object;
  for (const auto& [name, json] : sorted) object.Raw(name, json);
  return object.Json();
}

std::string FieldValue::MessageJson(const Message& message, bool of_a_name) {
  const std::string& type = message.GetDescriptor()->full_name();
  if (type == "google.protobuf.Timestamp" || type == "google.protobuf.Duration") return Seconds(message);
  const auto& reflection = *message.GetReflection();
  // The specification of a parameter that is a seed, with its default.
  if (const auto* name = message.GetDescriptor()->FindFieldByName("name"); name && type == "hotplate.v1.ParamSpec")
    of_a_name = IsName(reflection.GetString(message, name));
  JsonObject object;
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (field.is_map()) {
      object.Raw(field.json_name(), MapJson(message, field));
    } else if (field.is_repeated()) {
      std::vector<std::string> elements;
      for (int k = 0; k < reflection.FieldSize(message, &field); ++k)
        elements.push_back(FieldValue(message, field, k).Json(of_a_name));
      object.Raw(field.json_name(), JsonArray(elements));
    } else if (type == "hotplate.v1.JobError" && field.name() == "code") {
      // A google.rpc.Code, by its name as in every other error.
      const auto code = static_cast<absl::StatusCode>(reflection.GetInt32(message, &field));
      object.Text(field.json_name(), absl::StatusCodeToString(code));
    } else if (!field.has_presence() || reflection.HasField(message, &field)) {
      object.Raw(field.json_name(), FieldValue(message, field).Json(of_a_name));
    }
  }
  return object.Json();
}

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

std::string ToJson(const Message& message) { return FieldValue::MessageJson(message, false); }

std::string JsonNumber(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return Number(value);
}

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
      std::array<char, 8> escape{};  // terminals also obey control characters beyond ASCII
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
