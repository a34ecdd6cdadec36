// Formats numbers for people, and parses what people type. Always the same words and units.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "google/protobuf/timestamp.pb.h"
#include "hotplate/v1/types.pb.h"
#include "kernels/array/shape.h"

namespace hotplate::v1 {
class NamedSignature;
}

namespace hotplate::cli {

using std::chrono::nanoseconds;

std::string ByteRate(double bytes_per_second);  // "2.1 GB/s"
std::string FlopRate(double flop_per_second);   // "45.0 TFLOP/s"
std::string Percent(double share);              // 0.58: "58 %"
std::string Number(double value);               // the shortest text that reads back as the same double
std::string Number32(float value);              // the same for a float
// By strftime's format: in this machine's time zone, and in UTC.
std::string LocalTime(std::time_t time, const char* format);
std::string UtcTime(std::time_t time, const char* format);
std::string Clock(const google::protobuf::Timestamp& time);  // local, "09:41:07"
// From `from` to `to`; negative spans count as none.
nanoseconds Between(const google::protobuf::Timestamp& from, const google::protobuf::Timestamp& to);
google::protobuf::Timestamp Now();
// The time of a daemon's answer by its own clock, which may be minutes off from this machine's. Compare its other times
// with this one. Falls back to this machine's clock for older daemons.
template <typename Said>
google::protobuf::Timestamp NowOf(const Said& said) {
  return said.has_now() ? said.now() : Now();
}

// "float32 [3000, 3000]"; names the number of a dtype that this program does not know.
std::string Describe(const v1::Signature& signature);
// "float32 [at most 3000]" where the data decide.
std::string Describe(const v1::NamedSignature& output);
// Nothing for a dtype or shape that cannot be.
std::optional<hotplate::Signature> FromWire(const v1::Signature& signature);

std::string Text(const v1::ParamValue& value);

std::vector<std::string> SplitAt(const std::string& text, char at);                // "a,,b": "a", "" and "b"
std::vector<std::string> SplitAt(const std::vector<std::string>& texts, char at);  // all of them, one after the other
std::string Join(const std::vector<std::string>& parts, const std::string& between);

// A whole number, also as "1e6"; nothing if it is none or does not fit.
std::optional<std::int64_t> ParseInteger(const std::string& text);
// Any number, also nan and inf (which callers refuse by name); nothing for other texts.
std::optional<double> ParseNumber(const std::string& text);

}  // namespace hotplate::cli
