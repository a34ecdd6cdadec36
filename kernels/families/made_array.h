// Shared by kernels that make an array from nothing: its sizes and its dtype are parameters.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "kernels/spec/spec.h"

namespace hotplate {

// Parameters n, rows and batch, for an array [n], [rows, n] or [batch, rows, n]: an axis of 0 is left out.
KernelSpecBuilder& TakeSizes(KernelSpecBuilder& builder);
// Shapes the only output by them; refuses a batch without rows.
absl::Status ShapeBySizes(BoundCall& call);

// The parameter dtype: float32, float64 (the default), int32 or int64. `first`, if not empty, is one more choice and
// the default.
ParamSpec DTypeParam(std::string docs, const std::string& first = "");
// If dtype is auto, gives the only output NumPy's dtype: int64 if all these parameters are integers, else float64.
void ChooseDType(BoundCall& call, std::initializer_list<std::string_view> numbers);

// A parameter that may be any number; without a default it has to be given.
ParamSpec NumberParam(std::string name, std::optional<ParamValue> default_value, std::string docs);

// Elements of the only output.
double ElementsOf(const BoundCall& call);

// The bound below which float64 holds every integer.
inline constexpr double kExactIntegers = 0x1p53;

// Whether `value` is an element of the integer dtype, exactly.
bool HoldsInteger(DType dtype, double value);

}  // namespace hotplate
