// The words that all conversions share: signatures, times, durations. Nothing from outside is used before it is
// bounded; the sentences name the value.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <optional>
#include <variant>

#include "absl/status/statusor.h"
#include "hotplate/v1/types.pb.h"
#include "kernels/array/shape.h"
#include "server/core/types.h"

namespace hotplate::wire {

// INVALID_ARGUMENT, naming `field`: an unknown dtype, a negative size, too many of them, or more than `limit` bytes
// (RESOURCE_EXHAUSTED, naming the limit).
absl::StatusOr<Signature> FromProto(const v1::Signature& signature, const std::string& field, std::uint64_t limit);
void ToProto(const Signature& signature, v1::Signature& out);

// INVALID_ARGUMENT, naming `field`: not positive, or out of range.
absl::StatusOr<core::nanoseconds> PositiveDuration(const google::protobuf::Duration& duration,
                                                   const std::string& field);
// Nothing for one without a value.
std::optional<ParamValue> FromProto(const v1::ParamValue& value);
// INVALID_ARGUMENT: too long, or with control characters.
absl::Status CheckLabel(const std::string& label, const std::string& field = "label");
void ToProto(core::nanoseconds duration, google::protobuf::Duration& out);
void ToProto(core::WallTime time, google::protobuf::Timestamp& out);
core::WallTime FromProto(const google::protobuf::Timestamp& time);

}  // namespace hotplate::wire
