// Sizes and durations as people write them: "64 MiB", "20s". Used by flags, environment and configuration file.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hotplate::server {

// Bytes: a whole number with B, KiB, MiB, GiB, TiB (powers of 1024), KB, MB, GB, TB (of 1000) or nothing (bytes).
// Nothing for any other text and for more than 2^63 - 1 bytes.
std::optional<std::uint64_t> ParseBytes(std::string_view text);

// A number with ms, s, m, h or d; "0" needs no unit. Nothing for any other text and for more than 10 years.
std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text);

// The shortest text that parses back: "64MiB", "1h", "1500ms".
std::string FormatBytes(std::uint64_t bytes);
std::string FormatDuration(std::chrono::nanoseconds duration);

}  // namespace hotplate::server
