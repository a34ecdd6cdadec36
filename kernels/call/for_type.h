// From a dtype, known at run time, to the code compiled for its element type. Standard library only; compiled by the
// host compiler and by nvcc.
#pragma once

#include <cstdio>
#include <optional>
#include <string_view>
#include <type_traits>

#include "kernels/array/dtype.h"
#include "kernels/call/call.h"

namespace hotplate {

// Returns body.operator()<T>() for the type T of the list that has this dtype; nothing if there is none.
//   TypeFor<float, double>(dtype, []<typename T>() { return Elements<T>(); })
template <typename First, typename... Others, typename Body>
auto TypeFor(DType dtype, const Body& body) -> std::optional<decltype(body.template operator()<First>())> {
  if (dtype == DTypeOf<First>()) return body.template operator()<First>();
  if constexpr (sizeof...(Others) > 0) {
    return TypeFor<Others...>(dtype, body);
  } else {
    return std::nullopt;
  }
}

inline Outcome NoCodeFor(std::string_view kernel, DType dtype) {
  const std::string_view name = DTypeFromNumber(static_cast<int>(dtype)) ? Name(dtype) : "this dtype";
  char message[160];
  std::snprintf(message, sizeof message, "%.*s: this back-end has no code for %.*s; please report it with the call",
                static_cast<int>(kernel.size()), kernel.data(), static_cast<int>(name.size()), name.data());
  return Outcome::Failed(message);
}

// The same in a kernel. A dtype that is not in the list is accepted by the kernel's spec but missing in its code: the
// job fails, and the message names both.
//   return ForType<float, double>("selu", call.InputType("x"), [&]<typename T>() { return Run<T>(call, context); });
template <typename... Types, typename Body>
Outcome ForType(std::string_view kernel, DType dtype, const Body& body) {
  const std::optional<Outcome> outcome = TypeFor<Types...>(dtype, body);
  return outcome ? *outcome : NoCodeFor(kernel, dtype);
}

// The type for computing floating-point results from elements of type T: integers in float64, as in NumPy.
template <typename T>
using FloatFor = std::conditional_t<std::is_floating_point_v<T>, T, double>;

}  // namespace hotplate
