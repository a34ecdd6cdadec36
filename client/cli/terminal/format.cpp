#include "client/cli/terminal/format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "hotplate/v1/jobs.pb.h"

namespace hotplate::cli {
namespace {

template <typename... Parts>
std::string Printf(const char* format, Parts... parts) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), format, parts...);
  return text.data();
}

// Scaled by thousands, three digits at most before the point.
std::string Scaled(double value, const std::array<const char*, 7>& units) {
  std::size_t unit = 0;
  while (std::abs(value) >= 999.95 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? Printf("%.0f %s", value, units[0]) : Printf("%.1f %s", value, units[unit]);
}

}  // namespace

std::string Bytes(double bytes) { return Scaled(bytes, {"B", "kB", "MB", "GB", "TB", "PB", "EB"}); }
std::string ByteRate(double rate) { return Scaled(rate, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", "EB/s"}); }
std::string FlopRate(double rate) {
  return Scaled(rate, {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s"});
}

std::string Span(nanoseconds span) {
  const double ns = static_cast<double>(span.count());
  if (ns <= 0) return "0 s";
  if (ns < 1e3) return Printf("%.0f ns", ns);
  if (ns < 99.5e3) return Printf("%.0f µs", ns / 1e3);
  if (ns < 9.95e6) return Printf("%.1f ms", ns / 1e6);
  if (ns < 999.5e6) return Printf("%.0f ms", ns / 1e6);
  if (ns < 99.95e9) return Printf("%.1f s", ns / 1e9);
  const long long seconds = std::chrono::round<std::chrono::seconds>(span).count();
  const bool hours = seconds >= 3600;
  const long long large = hours ? seconds / 3600 : seconds / 60, small = hours ? seconds % 3600 / 60 : seconds % 60;
  const std::string text = Printf(hours ? "%lld h" : "%lld m", large);
  return small == 0 ? text : text + Printf(hours ? " %02lld m" : " %02lld s", small);
}

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

std::string Clock(const google::protobuf::Timestamp& time) {
  const std::time_t seconds = static_cast<std::time_t>(time.seconds());
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
  return text.data();
}

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

std::string Join(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::optional<nanoseconds> ParseSpan(const std::string& text) {
  constexpr double kLongest = 366.0 * 24 * 3600;
  double seconds = 0;
  const char* at = text.c_str();
  if (*at == '\0') return std::nullopt;
  while (*at != '\0') {
    if ((*at < '0' || *at > '9') && *at != '.') return std::nullopt;
    double amount = 0;
    const auto parsed = std::from_chars(at, text.c_str() + text.size(), amount, std::chars_format::fixed);
    if (parsed.ec != std::errc()) return std::nullopt;
    at = parsed.ptr;
    const std::string rest = at;
    double unit = 1;
    std::size_t letters = 1;
    if (rest.starts_with("ms")) {
      unit = 1e-3;
      letters = 2;
    } else if (rest.starts_with('s')) {
      unit = 1;
    } else if (rest.starts_with('m')) {
      unit = 60;
    } else if (rest.starts_with('h')) {
      unit = 3600;
    } else if (rest.empty() && seconds == 0) {
      letters = 0;
    } else {
      return std::nullopt;
    }
    at += letters;
    seconds += amount * unit;
  }
  if (!(seconds >= 0 && seconds <= kLongest)) return std::nullopt;
  return nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
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
