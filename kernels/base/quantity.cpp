#include "kernels/base/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "absl/time/time.h"

namespace hotplate {
namespace {

using std::chrono::nanoseconds;

struct ByteUnit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr ByteUnit kByteUnits[] = {
    {"TiB", std::uint64_t{1} << 40},
    {"GiB", 1 << 30},
    {"MiB", 1 << 20},
    {"KiB", 1 << 10},
    {"TB", 1'000'000'000'000},
    {"GB", 1'000'000'000},
    {"MB", 1'000'000},
    {"kB", 1'000},
    {"KB", 1'000},
    {"B", 1},
    {"", 1},
};

struct TimeUnit {
  std::string_view name;
  nanoseconds span;
};
constexpr TimeUnit kTimeUnits[] = {
    {"w", std::chrono::weeks(1)},         {"d", std::chrono::days(1)},          {"h", std::chrono::hours(1)},
    {"m", std::chrono::minutes(1)},       {"s", std::chrono::seconds(1)},       {"ms", std::chrono::milliseconds(1)},
    {"us", std::chrono::microseconds(1)}, {"µs", std::chrono::microseconds(1)}, {"ns", nanoseconds(1)},
};
constexpr double kLongest = 10.0 * 366 * 86'400e9;

template <typename... Parts>
std::string Printf(const char* format, Parts... parts) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), format, parts...);
  return text.data();
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<nanoseconds> UnitNamed(std::string_view name) {
  for (const TimeUnit& unit : kTimeUnits)
    if (name == unit.name) return unit.span;
  return std::nullopt;
}

}  // namespace

// Three digits at most before the point.
std::string ScaledText(double value, const char* unit) {
  constexpr std::array kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.95 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return Printf(prefix == 0 ? "%.0f %s%s" : "%.1f %s%s", value, kPrefixes[prefix], unit);
}

std::string BytesText(std::uint64_t bytes) { return ScaledText(static_cast<double>(bytes), "B"); }

std::string DurationText(nanoseconds span) {
  const double ns = static_cast<double>(span.count());
  if (ns <= 0) return "0 s";
  if (ns < 1e3) return Printf("%.0f ns", ns);
  if (ns < 99.5e3) return Printf("%.0f µs", ns / 1e3);
  if (ns < 9.95e6) return Printf("%.1f ms", ns / 1e6);
  if (ns < 999.5e6) return Printf("%.0f ms", ns / 1e6);
  // A whole number of seconds was set, not measured.
  if (ns < 99.95e9) return Printf(span % std::chrono::seconds(1) == nanoseconds(0) ? "%.0f s" : "%.1f s", ns / 1e9);
  const long long seconds = std::chrono::round<std::chrono::seconds>(span).count();
  constexpr long long kDay = 86'400;
  if (seconds >= 2 * kDay && seconds % kDay == 0) return Printf("%lld days", seconds / kDay);
  const bool hours = seconds >= 3600;
  const long long large = hours ? seconds / 3600 : seconds / 60, small = hours ? seconds % 3600 / 60 : seconds % 60;
  const std::string text = Printf(hours ? "%lld h" : "%lld m", large);
  return small == 0 ? text : text + Printf(hours ? " %02lld m" : " %02lld s", small);
}

std::string SecondsText(double seconds) { return DurationText(nanoseconds(static_cast<std::int64_t>(seconds * 1e9))); }

std::string UtcText(std::chrono::system_clock::time_point time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromChrono(time), absl::UTCTimeZone());
}

std::string ExactBytes(std::uint64_t bytes) {
  if (bytes != 0) {
    for (const ByteUnit& unit : kByteUnits) {
      if (unit.bytes > 1 && bytes % unit.bytes == 0) return std::to_string(bytes / unit.bytes) + std::string(unit.name);
    }
  }
  return std::to_string(bytes);
}

std::string ExactDuration(nanoseconds duration) {
  std::string text;
  if (duration < nanoseconds(0)) {
    text = "-";
    duration = -duration;
  }
  for (const TimeUnit& unit : kTimeUnits) {
    const std::int64_t count = duration / unit.span;
    if (count == 0 || unit.name == "w") continue;
    text += std::to_string(count) + std::string(unit.name);
    duration -= count * unit.span;
  }
  return text.empty() ? "0" : text;
}

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  text = Trim(text);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit = Trim(text.substr(static_cast<std::size_t>(end - text.data())));
  for (const ByteUnit& known : kByteUnits) {
    if (unit != known.name) continue;
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / known.bytes)
      return std::nullopt;
    return number * known.bytes;
  }
  return std::nullopt;
}

std::optional<nanoseconds> ParseDuration(std::string_view text, std::optional<nanoseconds> bare) {
  constexpr std::string_view kNumber = "0123456789.";
  text = Trim(text);
  if (text == "0") bare = nanoseconds(1);
  double sum = 0;
  const bool one = text.find_first_not_of(kNumber) == text.npos;
  do {
    double number = 0;
    const std::size_t digits = std::min(text.find_first_not_of(kNumber), text.size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
    if (error != std::errc() || end != text.data() + digits) return std::nullopt;
    text = Trim(text.substr(digits));
    const std::string_view name = text.substr(0, text.find_first_of("0123456789. "));
    const std::optional<nanoseconds> unit = one ? bare : UnitNamed(name);
    if (!unit) return std::nullopt;
    sum += number * static_cast<double>(unit->count());
    text = Trim(text.substr(name.size()));
  } while (!text.empty());
  if (!(sum <= kLongest)) return std::nullopt;
  return nanoseconds(std::llround(sum));
}

}  // namespace hotplate
