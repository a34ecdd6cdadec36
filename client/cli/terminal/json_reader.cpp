#include "client/cli/terminal/json_reader.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

using Json = nlohmann::json;

// Each name is compared with those before it.
constexpr std::size_t kMostMembers = 4096;

// "[json.exception.parse_error.101] parse error at line 1, column 9: syntax error while parsing value - invalid
// literal; last read: '…'" without what is the library's own, and without the text of the line.
std::string JsonFault(const std::string& what) {
  const std::size_t place = what.find("column ");
  std::string fault = place == std::string::npos ? what.substr(what.find("] ") + 2) : what.substr(place);
  if (const std::size_t rest = fault.find("; last read"); rest != std::string::npos) {
    const std::size_t expected = fault.find("; expected", rest);
    fault = fault.substr(0, rest) + (expected == std::string::npos ? "" : fault.substr(expected));
  }
  return hotplate::Shortened(fault);
}

// The library's events. Each returns false to stop.
class JsonEvents : public Json::json_sax_t {
 public:
  explicit JsonEvents(JsonValue& read) : read_(read) {}

  const std::string& fault() const { return fault_; }

  bool null() override { return Add({JsonValue::Kind::kNull, "", {}}); }
  bool boolean(bool value) override { return Add({JsonValue::Kind::kBool, value ? "true" : "false", {}}); }
  bool number_integer(Json::number_integer_t value) override { return AddNumber(std::to_string(value)); }
  bool number_unsigned(Json::number_unsigned_t value) override { return AddNumber(std::to_string(value)); }
  bool number_float(Json::number_float_t /*value*/, const std::string& text) override { return AddNumber(text); }
  bool string(std::string& text) override { return Add({JsonValue::Kind::kText, std::move(text), {}}); }
  bool binary(Json::binary_t& /*bytes*/) override { return false; }  // not in texts

  bool start_object(std::size_t /*size*/) override { return Open(JsonValue::Kind::kObject); }
  bool start_array(std::size_t /*size*/) override { return Open(JsonValue::Kind::kArray); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    if (depth_ > kept_) return true;
    auto& members = Top().members;
    const auto same = [&name](const auto& member) { return member.first == name; };
    if (std::any_of(members.begin(), members.end(), same)) return Refuse(Quoted(name) + " is given twice");
    if (members.size() == kMostMembers) return Refuse("it has more than " + std::to_string(kMostMembers) + " members");
    members.emplace_back(std::move(name), JsonValue());
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*last*/, const Json::exception& error) override {
    return Refuse("it is no JSON: " + JsonFault(error.what()));
  }

 private:
  bool Refuse(const std::string& fault) {
    fault_ = fault;
    return false;
  }

  // The object whose members come now, if depth_ is kept_.
  JsonValue& Top() { return kept_ == 1 ? read_ : read_.members.back().second; }

  bool AddNumber(const std::string& text) { return Add({JsonValue::Kind::kNumber, text, {}}); }
  bool Add(JsonValue value) {
    if (depth_ == 0) return Refuse("it is " + KindName(value.kind) + ", and no object");
    if (depth_ == kept_) Top().members.back().second = std::move(value);
    return true;
  }

  bool Open(JsonValue::Kind kind) {
    const bool is_object = kind == JsonValue::Kind::kObject;
    if (depth_ == 0 && is_object)
      read_.kind = kind;
    else if (!Add({kind, "", {}}))
      return false;
    if (is_object && depth_ == kept_ && kept_ < 2) ++kept_;
    ++depth_;
    return true;
  }
  bool Close() {
    if (depth_ == kept_) --kept_;
    --depth_;
    return true;
  }

  JsonValue& read_;
  std::string fault_;
  std::size_t depth_ = 0;  // brackets that are open
  std::size_t kept_ = 0;   // of them, from the outermost: objects whose members are kept
};

}  // namespace

std::string KindName(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::kNull:
      return "null";
    case JsonValue::Kind::kBool:
      return "a boolean";
    case JsonValue::Kind::kNumber:
      return "a number";
    case JsonValue::Kind::kText:
      return "a string";
    case JsonValue::Kind::kObject:
      return "an object";
    case JsonValue::Kind::kArray:
      break;
  }
  return "an array";
}

absl::Status ReadJsonObject(std::string_view text, JsonValue& read) {
  JsonEvents events(read);
  if (Json::sax_parse(text.begin(), text.end(), &events)) return absl::OkStatus();
  return absl::InvalidArgumentError(events.fault());
}

}  // namespace hotplate::cli
