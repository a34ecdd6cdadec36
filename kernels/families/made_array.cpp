#include "kernels/families/made_array.h"

#include <algorithm>
#include <cmath>

#include "kernels/spec/refused_param.h"

namespace hotplate {
namespace {

ParamSpec Size(const char* name, std::optional<ParamValue> default_value, const char* docs) {
  return {.name = name,
          .type = ParamType::kInt,
          .default_value = std::move(default_value),
          .minimum = 0,
          .maximum = static_cast<double>(kMaxArrayBytes),
          .docs = docs};
}

}  // namespace

KernelSpecBuilder& TakeSizes(KernelSpecBuilder& builder) {
  return builder.Param(Size("n", {}, "length of the last axis"))
      .Param(Size("rows", std::int64_t{0}, "number of rows, for an array [rows, n]; 0: no such axis"))
      .Param(Size("batch", std::int64_t{0}, "number of matrices, for an array [batch, rows, n]; 0: no such axis"));
}

absl::Status ShapeBySizes(BoundCall& call) {
  Shape& shape = call.outputs.front().shape;
  shape = {call.Int("n")};
  if (call.Int("rows") > 0) shape.insert(shape.begin(), call.Int("rows"));
  if (call.Int("batch") == 0) return absl::OkStatus();
  if (call.Int("rows") == 0) return RefusedParam(call, "batch", "it needs rows, which is 0; give rows too");
  shape.insert(shape.begin(), call.Int("batch"));
  return absl::OkStatus();
}

ParamSpec DTypeParam(std::string docs, const std::string& first) {
  ParamSpec param;
  param.name = "dtype";
  param.type = ParamType::kChoice;
  param.choices = {"float32", "float64", "int32", "int64"};
  if (!first.empty()) param.choices.insert(param.choices.begin(), first);
  param.default_value = first.empty() ? "float64" : first;
  param.docs = std::move(docs);
  return param;
}

void ChooseDType(BoundCall& call, std::initializer_list<std::string_view> numbers) {
  if (call.Choice("dtype") != "auto") return;
  const bool integers = std::all_of(numbers.begin(), numbers.end(), [&](std::string_view name) {
    return std::holds_alternative<std::int64_t>(call.Param(name));
  });
  call.outputs.front().dtype = integers ? DType::kInt64 : DType::kFloat64;
}

ParamSpec NumberParam(std::string name, std::optional<ParamValue> default_value, std::string docs) {
  ParamSpec param;
  param.name = std::move(name);
  param.type = ParamType::kFloat;
  param.default_value = std::move(default_value);
  param.docs = std::move(docs);
  return param;
}

double ElementsOf(const BoundCall& call) {
  return static_cast<double>(ElementCount(call.outputs.front().shape).value_or(0));
}

bool HoldsInteger(DType dtype, double value) {
  const double end = dtype == DType::kInt32 ? 0x1p31 : 0x1p63;
  return std::floor(value) == value && -end <= value && value < end;
}

}  // namespace hotplate
