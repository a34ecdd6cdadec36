#include "client/python/src/expressions.h"

#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/array/dtype.h"
#include "kernels/expression/check.h"
#include "kernels/expression/names.h"

namespace hotplate::python {
namespace {

namespace py = pybind11;

// In the order of expression::Error::Kind: the exceptions of hotplate.errors.
constexpr const char* kExceptions[] = {"InvalidSyntax", "UnknownName", "InvalidType",
                                       "InvalidCall",   "OutOfBounds", "InvalidCall"};

[[noreturn]] void Raise(const expression::Error& error, const std::string& text) {
  std::string message = error.message;
  // An operation of an array has a text that its user did not write; a text of theirs may have lines.
  if (error.kind == expression::Error::Kind::kSyntax || error.kind == expression::Error::Kind::kName) {
    message += "\n" + expression::WithCaret(error, text);
  }
  const py::object exception =
      py::module_::import("hotplate.errors").attr(kExceptions[static_cast<std::size_t>(error.kind)])(message);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw py::error_already_set();
}

DType ToDType(const std::string& name, const std::string& dtype) {
  const std::optional<DType> known = ParseDType(dtype);
  if (!known) throw py::type_error(name + " is of dtype " + dtype + ", which no array of a daemon has");
  return *known;
}

using Given = std::tuple<std::string, std::string, Shape>;  // name, dtype, shape

std::vector<Given> CheckExpression(const std::string& text, const std::vector<Given>& inputs,
                                   const std::vector<std::pair<std::string, std::string>>& scalars) {
  std::vector<expression::NamedInput> named;
  for (const auto& [name, dtype, shape] : inputs) named.push_back({name, {ToDType(name, dtype), shape}});
  std::vector<expression::Scalar> numbers;
  for (const auto& [name, dtype] : scalars) numbers.push_back({name, ToDType(name, dtype)});
  const auto checked = expression::Check(text, named, numbers);
  if (const auto* error = std::get_if<expression::Error>(&checked)) Raise(*error, text);
  std::vector<Given> outputs;
  for (const expression::Output& output : std::get<expression::Program>(checked).outputs) {
    outputs.emplace_back(output.name, std::string(Name(output.signature.dtype)), output.signature.shape);
  }
  return outputs;
}

std::pair<std::vector<std::string>, std::vector<std::string>> ExpressionNames(const std::string& text) {
  auto names = expression::NamesIn(text);
  if (const auto* error = std::get_if<expression::Error>(&names)) Raise(*error, text);
  auto& [taken, outputs] = std::get<expression::Names>(names);
  return {std::move(taken), std::move(outputs)};
}

}  // namespace

void BindExpressions(py::module_& module) {
  module.def("expression_names", ExpressionNames, py::arg("text"));
  module.def(
      "check_expression",
      [](const std::string& text, const std::vector<Given>& inputs,
         const std::vector<std::pair<std::string, std::string>>& scalars) {
        py::list outputs;
        for (const auto& [name, dtype, shape] : CheckExpression(text, inputs, scalars)) {
          py::tuple sizes(shape.size());
          for (std::size_t i = 0; i < shape.size(); ++i) sizes[i] = shape[i];
          outputs.append(py::make_tuple(name, dtype, sizes));
        }
        return outputs;
      },
      py::arg("text"), py::arg("inputs"), py::arg("scalars"));
}

}  // namespace hotplate::python
