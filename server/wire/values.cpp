#include "server/wire/values.h"

#include <algorithm>

#include "kernels/array/quoted.h"
#include "kernels/base/status.h"

namespace hotplate::wire {
namespace {

constexpr std::int64_t kLongestSeconds = 10LL * 366 * 86'400;
constexpr int kNanosPerSecond = 1'000'000'000;

}  // namespace

absl::StatusOr<Signature> FromProto(const v1::Signature& signature, const std::string& field, std::uint64_t limit) {
  const std::optional<DType> dtype = DTypeFromNumber(signature.dtype());
  if (!dtype) {
    return InvalidField(field, field + ": unknown dtype number " + std::to_string(signature.dtype()) +
                                   "; hotplate.v1.DType lists those that exist");
  }
  if (static_cast<std::size_t>(signature.shape_size()) > kMaxRank) {
    return InvalidField(field, field + ": the shape has " + std::to_string(signature.shape_size()) +
                                   " dimensions; at most " + std::to_string(kMaxRank) + " are possible");
  }
  Signature result{*dtype, Shape(signature.shape().begin(), signature.shape().end())};
  for (std::int64_t size : result.shape) {
    if (size < 0) return InvalidField(field, field + ": the shape " + ToString(result.shape) + " has a negative size");
  }
  const std::optional<std::size_t> bytes = ByteSize(result);
  if (!bytes) return InvalidField(field, field + ": the size of " + ToString(result) + " overflows");
  if (*bytes > limit) {
    return Refused(absl::StatusCode::kResourceExhausted,
                   {{field, field + ": " + ToString(result) + " has " + std::to_string(*bytes) +
                                " bytes; the limit max-array-bytes is " + std::to_string(limit)}});
  }
  return result;
}

void ToProto(const Signature& signature, v1::Signature& out) {
  out.set_dtype(static_cast<v1::DType>(signature.dtype));
  out.mutable_shape()->Assign(signature.shape.begin(), signature.shape.end());
}

absl::StatusOr<core::nanoseconds> PositiveDuration(const google::protobuf::Duration& duration,
                                                   const std::string& field) {
  const bool in_range = duration.seconds() >= 0 && duration.seconds() <= kLongestSeconds && duration.nanos() >= 0 &&
                        duration.nanos() < kNanosPerSecond && (duration.seconds() > 0 || duration.nanos() > 0);
  if (!in_range) {
    return InvalidField(field, field + " is " + std::to_string(duration.seconds()) + " s and " +
                                   std::to_string(duration.nanos()) + " ns; it must be positive and at most 10 years");
  }
  return std::chrono::seconds(duration.seconds()) + core::nanoseconds(duration.nanos());
}

std::optional<ParamValue> FromProto(const v1::ParamValue& value) {
  switch (value.kind_case()) {
    case v1::ParamValue::kIntValue:
      return value.int_value();
    case v1::ParamValue::kFloatValue:
      return value.float_value();
    case v1::ParamValue::kBoolValue:
      return value.bool_value();
    case v1::ParamValue::kStringValue:
      return value.string_value();
    case v1::ParamValue::KIND_NOT_SET:
      break;
  }
  return std::nullopt;
}

absl::Status CheckLabel(const std::string& label, const std::string& field) {
  if (label.size() > core::kMaxLabelBytes) {
    return InvalidField(field, field + " is " + Quoted(label) + "; at most " + std::to_string(core::kMaxLabelBytes) +
                                   " bytes are possible");
  }
  if (std::any_of(label.begin(), label.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    return InvalidField(field,
                        field + " is " + Quoted(label) + "; line breaks and other control characters are not possible");
  }
  return absl::OkStatus();
}

void ToProto(core::nanoseconds duration, google::protobuf::Duration& out) {
  out.set_seconds(duration.count() / kNanosPerSecond);
  out.set_nanos(static_cast<std::int32_t>(duration.count() % kNanosPerSecond));
}

void ToProto(core::WallTime time, google::protobuf::Timestamp& out) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  out.set_seconds(seconds.time_since_epoch().count());
  out.set_nanos(static_cast<std::int32_t>(std::chrono::duration_cast<core::nanoseconds>(time - seconds).count()));
}

core::WallTime FromProto(const google::protobuf::Timestamp& time) {
  return core::WallTime(std::chrono::duration_cast<core::WallTime::duration>(std::chrono::seconds(time.seconds()) +
                                                                             core::nanoseconds(time.nanos())));
}

}  // namespace hotplate::wire
