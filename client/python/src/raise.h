// The library's errors as the exceptions of hotplate.errors.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotplate::python {

// The exception that hotplate.errors makes of an error; with the GIL.
pybind11::object ToException(const absl::Status& status);

// Raises it; with the GIL.
[[noreturn]] void Raise(const absl::Status& status);

inline void RaiseUnlessOk(const absl::Status& status) {
  if (!status.ok()) Raise(status);
}

template <typename T>
T OrRaise(absl::StatusOr<T> value) {
  if (!value.ok()) Raise(value.status());
  return *std::move(value);
}

}  // namespace hotplate::python
