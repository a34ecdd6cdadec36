#include "client/cli/terminal/format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "hotplate/v1/jobs.pb.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

template <typename... Parts>
std::string Printf(const char* format, Parts... parts) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), format, parts...);
  return text.data();
}

}  // namespace

std::string ByteRate(double rate) { return ScaledText(rate, "B/s"); }
std::string FlopRate(double rate) { return ScaledText(rate, "FLOP/s"); }

std::string Percent(double share) { return Printf("%.0f %%", share * 100); }

// The shortest text that reads back as the same value; "1e6", not "1e+06".
template <typename T>
static std::string Shortest(T value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  std::string number(text.data(), end.ptr);
  if (const std::size_t exponent = number.find('e'); exponent != std::string::npos) {
    std::size_t digit = exponent + 1;
    if (number[digit] == '+') number.erase(digit, 1);
    if (number[digit] == '-') ++digit;
    while (number[digit] == '0' && digit + 1 < number.size()) number.erase(digit, 1);
  }
  return number;
}

std::string Number(double value) { return Shortest(value); }
std::string Number32(float value) { return Shortest(value); }

namespace {

std::string Formatted(const std::tm& parts, const char* format) {
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

}  // namespace

std::string LocalTime(std::time_t time, const char* format) {
  std::tm parts{};
  return Formatted(*localtime_r(&time, &parts), format);
}

std::string UtcTime(std::time_t time, const char* format) {
  std::tm parts{};
  return Formatted(*gmtime_r(&time, &parts), format);
}

std::string Clock(const google::protobuf::Timestamp& time) { return LocalTime(time.seconds(), "%H:%M:%S"); }

nanoseconds Between(const google::protobuf::Timestamp& from, const google::protobuf::Timestamp& to) {
  const std::int64_t span = (to.seconds() - from.seconds()) * 1'000'000'000 + to.nanos() - from.nanos();
  return nanoseconds(std::max<std::int64_t>(span, 0));
}

google::protobuf::Timestamp Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  google::protobuf::Timestamp stamp;
  stamp.set_seconds(now.tv_sec);
  stamp.set_nanos(static_cast<std::int32_t>(now.tv_nsec));
  return stamp;
}

std::string Describe(const v1::Signature& signature) {
  const auto dtype = DTypeFromNumber(signature.dtype());
  const std::string name = dtype ? std::string(Name(*dtype)) : "dtype " + std::to_string(signature.dtype());
  return name + " " + ToString(std::span(signature.shape().data(), static_cast<std::size_t>(signature.shape_size())));
}

std::string Describe(const v1::NamedSignature& output) {
  std::string text = Describe(output.signature());
  if (output.at_most()) text.insert(text.find('[') + 1, "at most ");
  return text;
}

std::optional<hotplate::Signature> FromWire(const v1::Signature& signature) {
  const auto dtype = DTypeFromNumber(signature.dtype());
  if (!dtype) return std::nullopt;
  hotplate::Signature plain{*dtype, {signature.shape().begin(), signature.shape().end()}};
  if (!ByteSize(plain)) return std::nullopt;
  return plain;
}

std::string Text(const v1::ParamValue& value) {
  switch (value.kind_case()) {
    case v1::ParamValue::kIntValue:
      return std::to_string(value.int_value());
    case v1::ParamValue::kFloatValue:
      return Number(value.float_value());
    case v1::ParamValue::kBoolValue:
      return value.bool_value() ? "true" : "false";
    case v1::ParamValue::kStringValue:
      return value.string_value();
    case v1::ParamValue::KIND_NOT_SET:
      break;
  }
  return "";
}

std::vector<std::string> SplitAt(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::vector<std::string> SplitAt(const std::vector<std::string>& texts, char at) {
  std::vector<std::string> parts;
  for (const std::string& text : texts)
    for (std::string& part : SplitAt(text, at)) parts.push_back(std::move(part));
  return parts;
}

std::string Join(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::optional<std::int64_t> ParseInteger(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const char* begin = text.data() + (text.size() > 1 && text[0] == '+' && text[1] != '-' ? 1 : 0);
  const auto parsed = std::from_chars(begin, end, value);
  if (parsed.ec == std::errc() && parsed.ptr == end) return value;
  // "1e6" is how people write a million; beyond 2^53 a double no longer names one integer.
  const auto number = ParseNumber(text);
  if (!number || !std::isfinite(*number) || std::abs(*number) > 9007199254740992.0) return std::nullopt;
  if (*number != std::floor(*number) || text.find_first_of("eE") == std::string::npos) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<double> ParseNumber(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const char* begin = text.data() + (text.size() > 1 && text[0] == '+' && text[1] != '-' ? 1 : 0);
  const auto parsed = std::from_chars(begin, end, value);
  if (parsed.ptr != end || begin == end) return std::nullopt;
  if (parsed.ec == std::errc()) return value;
  // Out of a double's range: infinity or zero, with the sign, as strtod says.
  if (parsed.ec == std::errc::result_out_of_range) return std::strtod(begin, nullptr);
  return std::nullopt;
}

}  // namespace hotplate::cli
