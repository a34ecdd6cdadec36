#include "kernels/expression/call_program.h"

#include <vector>

namespace hotplate::expression {
namespace {

bool IsText(const hotplate_param& param) { return param.type == HOTPLATE_PARAM_CHOICE; }

DType DTypeOf(const hotplate_param& number) {
  if (number.type == HOTPLATE_PARAM_BOOL) return DType::kBool;
  return number.type == HOTPLATE_PARAM_INT ? DType::kInt64 : DType::kFloat64;
}

Shape ShapeOf(const hotplate_array& array) { return Shape(array.shape, array.shape + array.rank); }

std::string_view TextOf(const Call& call) {
  for (const hotplate_param& param : call.params()) {
    if (IsText(param)) return param.text;
  }
  return "";
}

}  // namespace

std::string KeyOf(const Call& call) {
  std::string key(TextOf(call));
  const auto add = [&key](const char* name, std::int32_t dtype) {
    key.append(1, '\0').append(name).append(1, ' ').append(std::to_string(dtype));
  };
  for (const hotplate_array& input : call.inputs()) {
    add(input.name, input.dtype);
    for (const std::int64_t size : ShapeOf(input)) key.append(1, ' ').append(std::to_string(size));
  }
  for (const hotplate_param& param : call.params()) {
    if (!IsText(param)) add(param.name, -param.type);
  }
  return key;
}

std::variant<Program, Error> ProgramOf(const Call& call) {
  std::vector<NamedInput> inputs;
  for (const hotplate_array& input : call.inputs()) {
    inputs.push_back({input.name, {.dtype = static_cast<DType>(input.dtype), .shape = ShapeOf(input)}});
  }
  std::vector<Scalar> scalars;
  for (const hotplate_param& param : call.params()) {
    if (!IsText(param)) scalars.push_back({param.name, DTypeOf(param)});
  }
  return Check(TextOf(call), inputs, scalars);
}

}  // namespace hotplate::expression
