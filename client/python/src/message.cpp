#include "client/python/src/message.h"

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "hotplate/v1/types.pb.h"
#include "kernels/array/dtype.h"

namespace hotplate::python {
namespace {

namespace py = pybind11;
namespace pb = google::protobuf;

double Seconds(std::int64_t seconds, std::int32_t nanos) { return static_cast<double>(seconds) + 1e-9 * nanos; }

py::object FromParam(const v1::ParamValue& value) {
  switch (value.kind_case()) {
    case v1::ParamValue::kIntValue:
      return py::int_(value.int_value());
    case v1::ParamValue::kFloatValue:
      return py::float_(value.float_value());
    case v1::ParamValue::kBoolValue:
      return py::bool_(value.bool_value());
    case v1::ParamValue::kStringValue:
      return py::str(value.string_value());
    default:
      return py::none();
  }
}

py::object FromMessage(const pb::Message& message) {
  const pb::Descriptor* type = message.GetDescriptor();
  if (type == v1::ParamValue::descriptor()) return FromParam(static_cast<const v1::ParamValue&>(message));
  if (type == pb::Timestamp::descriptor()) {
    const auto& time = static_cast<const pb::Timestamp&>(message);
    return py::float_(Seconds(time.seconds(), time.nanos()));
  }
  if (type == pb::Duration::descriptor()) {
    const auto& duration = static_cast<const pb::Duration&>(message);
    return py::float_(Seconds(duration.seconds(), duration.nanos()));
  }
  return ToDict(message);
}

// "PARAM_TYPE_" for ParamType.
std::string PrefixOf(const pb::EnumDescriptor& type) {
  std::string prefix;
  for (const char c : type.name()) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !prefix.empty()) prefix += '_';
    prefix += upper ? c : static_cast<char>(c - 'a' + 'A');
  }
  return prefix + "_";
}

py::object FromEnum(const pb::EnumDescriptor& type, int number) {
  if (&type == v1::DType_descriptor()) {
    const auto dtype = DTypeFromNumber(number);
    return py::str(dtype ? std::string(Name(*dtype)) : "dtype " + std::to_string(number));
  }
  const pb::EnumValueDescriptor* value = type.FindValueByNumber(number);
  if (value == nullptr) return py::int_(number);  // of a daemon that is newer
  const std::string prefix = PrefixOf(type);
  return py::str(value->name().rfind(prefix, 0) == 0 ? value->name().substr(prefix.size()) : value->name());
}

// One value: of a field that is there, or the one at `index` of a repeated one.
py::object FromField(const pb::Message& message, const pb::FieldDescriptor& field, int index) {
  const pb::Reflection& reflection = *message.GetReflection();
  const bool one = !field.is_repeated();
  std::string scratch;
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return py::int_(one ? reflection.GetInt32(message, &field) : reflection.GetRepeatedInt32(message, &field, index));
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return py::int_(one ? reflection.GetInt64(message, &field) : reflection.GetRepeatedInt64(message, &field, index));
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return py::int_(one ? reflection.GetUInt32(message, &field)
                          : reflection.GetRepeatedUInt32(message, &field, index));
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return py::int_(one ? reflection.GetUInt64(message, &field)
                          : reflection.GetRepeatedUInt64(message, &field, index));
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return py::float_(one ? reflection.GetDouble(message, &field)
                            : reflection.GetRepeatedDouble(message, &field, index));
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return py::float_(one ? reflection.GetFloat(message, &field)
                            : reflection.GetRepeatedFloat(message, &field, index));
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return py::bool_(one ? reflection.GetBool(message, &field) : reflection.GetRepeatedBool(message, &field, index));
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return FromEnum(*field.enum_type(), one ? reflection.GetEnumValue(message, &field)
                                              : reflection.GetRepeatedEnumValue(message, &field, index));
    case pb::FieldDescriptor::CPPTYPE_STRING: {
      const std::string& text = one ? reflection.GetStringReference(message, &field, &scratch)
                                    : reflection.GetRepeatedStringReference(message, &field, index, &scratch);
      if (field.type() == pb::FieldDescriptor::TYPE_BYTES) return py::bytes(text);
      return py::str(text);
    }
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      return FromMessage(one ? reflection.GetMessage(message, &field)
                             : reflection.GetRepeatedMessage(message, &field, index));
  }
  return py::none();
}

}  // namespace

py::dict ToDict(const pb::Message& message) {
  const pb::Descriptor& type = *message.GetDescriptor();
  const pb::Reflection& reflection = *message.GetReflection();
  py::dict dict;
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    const py::str name(field.name());
    if (field.is_map()) {
      py::dict map;
      for (int j = 0; j < reflection.FieldSize(message, &field); ++j) {
        const pb::Message& entry = reflection.GetRepeatedMessage(message, &field, j);
        map[FromField(entry, *entry.GetDescriptor()->map_key(), 0)] =
            FromField(entry, *entry.GetDescriptor()->map_value(), 0);
      }
      dict[name] = map;
    } else if (field.is_repeated()) {
      const int count = reflection.FieldSize(message, &field);
      py::list list(count);
      for (int j = 0; j < count; ++j) list[static_cast<std::size_t>(j)] = FromField(message, field, j);
      dict[name] = list;
    } else if (!field.has_presence() || reflection.HasField(message, &field)) {
      dict[name] = FromField(message, field, 0);
    } else if (field.real_containing_oneof() == nullptr) {
      dict[name] = py::none();
    }
  }
  return dict;
}

}  // namespace hotplate::python
