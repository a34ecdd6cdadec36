#include "server/quantity.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace hotplate::server {
namespace {

struct ByteUnit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr ByteUnit kByteUnits[] = {
    {"TiB", std::uint64_t{1} << 40}, {"GiB", 1 << 30},  {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1'000'000'000'000},
    {"GB", 1'000'000'000},           {"MB", 1'000'000}, {"KB", 1'000},    {"B", 1},         {"", 1},
};

struct TimeUnit {
  std::string_view name;
  std::int64_t milliseconds;
};
constexpr TimeUnit kTimeUnits[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr double kLongestMilliseconds = 10.0 * 366 * 86'400'000;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

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

std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  text = Trim(text);
  if (text == "0") return std::chrono::nanoseconds(0);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  const std::string_view unit = Trim(text.substr(static_cast<std::size_t>(end - text.data())));
  for (const TimeUnit& known : kTimeUnits) {
    if (unit != known.name) continue;
    const double milliseconds = number * static_cast<double>(known.milliseconds);
    if (milliseconds > kLongestMilliseconds) return std::nullopt;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(std::llround(milliseconds * 1e6)));
  }
  return std::nullopt;
}

std::string FormatBytes(std::uint64_t bytes) {
  if (bytes != 0) {
    for (const ByteUnit& unit : kByteUnits) {
      if (unit.bytes > 1 && bytes % unit.bytes == 0) return std::to_string(bytes / unit.bytes) + std::string(unit.name);
    }
  }
  return std::to_string(bytes);
}

std::string FormatDuration(std::chrono::nanoseconds duration) {
  const std::int64_t milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  if (milliseconds == 0) return "0";
  for (const TimeUnit& unit : kTimeUnits) {
    if (milliseconds % unit.milliseconds == 0) {
      return std::to_string(milliseconds / unit.milliseconds) + std::string(unit.name);
    }
  }
  return std::to_string(milliseconds) + "ms";
}

}  // namespace hotplate::server
