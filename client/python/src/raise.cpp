#include "client/python/src/raise.h"

#include <chrono>
#include <string>

#include "client/lib/client.h"
#include "client/python/src/message.h"

namespace hotplate::python {

namespace py = pybind11;

py::object ToException(const absl::Status& status) {
  py::list violations;
  for (const v1::FieldViolation& violation : client::Violations(status)) {
    violations.append(py::make_tuple(violation.field(), violation.description()));
  }
  py::object end = py::none();
  if (const auto ended = client::EndOf(status)) end = ToDict(*ended);
  py::object retry_after = py::none();
  if (const auto delay = client::RetryAfter(status)) {
    retry_after = py::float_(std::chrono::duration<double>(*delay).count());
  }
  // Text from the wire may have been cut within a character.
  const std::string message(status.message());
  const py::object text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
  return py::module_::import("hotplate.errors")
      .attr("from_status")(absl::StatusCodeToString(status.code()), text, violations, client::JobIdOf(status), end,
                           retry_after);
}

void Raise(const absl::Status& status) {
  const py::object exception = ToException(status);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw py::error_already_set();
}

}  // namespace hotplate::python
