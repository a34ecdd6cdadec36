// Sizes, durations and moments in words, for both sides. Messages have one look for people. Settings, and what refuses
// a value that somebody gave, have the exact form, which parses back.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hotplate {

std::string BytesText(std::uint64_t bytes);              // "512 B", "72.0 MB": powers of 1000
std::string ScaledText(double value, const char* unit);  // "45.0 TFLOP/s": the same of any unit
// "85 µs", "1.2 ms", "34 ms", "2.5 s", "3 m 20 s", "2 h 05 m", "7 days"; "0 s" for a negative one too.
std::string DurationText(std::chrono::nanoseconds span);
std::string SecondsText(double seconds);                          // as a duration
std::string UtcText(std::chrono::system_clock::time_point time);  // "2026-11-21 20:40:00 UTC"

// Text that parses back as the same value: "64MiB", "2GB"; "15m", "1h30m", "1s500ms"; also "-1s".
std::string ExactBytes(std::uint64_t bytes);
std::string ExactDuration(std::chrono::nanoseconds duration);

// A whole number with B, KiB, MiB, GiB, TiB (powers of 1024), kB or KB, MB, GB, TB (of 1000) or nothing (bytes).
// Nothing for any other text and for more than 2^63 - 1 bytes.
std::optional<std::uint64_t> ParseBytes(std::string_view text);

// Numbers with ns, us, ms, s, m, h, d or w: "1.5s", "1h30m", "2 h 05 m". `bare`: the unit of one number without any;
// where there is none, such a number is refused, but for "0". Nothing for any other text and for more than 10 years.
std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text,
                                                      std::optional<std::chrono::nanoseconds> bare = std::nullopt);

}  // namespace hotplate
