#include "client/python/src/caller.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/python/src/client.h"

namespace hotplate::python {
namespace {

namespace py = pybind11;

class Caller {
 public:
  struct Input {
    std::string name;
    std::size_t variable;
    std::uint32_t dtypes;  // a bit for each
  };

  Caller(py::object client, std::string kernel, const py::sequence& inputs, std::string output)
      : held_(std::move(client)),
        client_(held_.cast<const PyClient&>()),
        kernel_(std::move(kernel)),
        output_(std::move(output)) {
    for (const py::handle input : inputs) {
      const auto words = py::reinterpret_borrow<py::tuple>(input);
      std::uint32_t dtypes = 0;
      for (const py::handle name : py::reinterpret_borrow<py::sequence>(words[2])) {
        if (const auto dtype = ParseDType(name.cast<std::string>())) dtypes |= Bit(*dtype);
      }
      inputs_.push_back({words[0].cast<std::string>(), words[1].cast<std::size_t>(), dtypes});
    }
  }

  py::object Call(PyObject* const* arguments, Py_ssize_t count) const {
    const auto unknown = py::reinterpret_borrow<py::object>(Py_NotImplemented);
    if (static_cast<std::size_t>(count) != inputs_.size()) return unknown;
    HeldBuffers held;
    std::map<std::string, client::Input> inputs;
    std::array<std::optional<DType>, kVariables> chosen;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = inputs_[i];
      std::optional<client::ArrayView> view = held.ViewOfNdarray(arguments[i]);
      if (!view || !(Bit(view->signature.dtype) & input.dtypes)) return unknown;
      std::optional<DType>& dtype = chosen[input.variable % kVariables];
      if (dtype.value_or(view->signature.dtype) != view->signature.dtype) return unknown;
      dtype = view->signature.dtype;
      inputs.emplace_hint(inputs.end(), input.name, *std::move(view));
    }
    return client_.RunOne(kernel_, inputs, output_);
  }

 private:
  static constexpr std::size_t kVariables = 8;

  static std::uint32_t Bit(DType dtype) { return std::uint32_t{1} << static_cast<int>(dtype); }

  const py::object held_;
  const PyClient& client_;
  const std::string kernel_;
  std::vector<Input> inputs_;
  const std::string output_;
};

constexpr char kName[] = "hotplate.caller";

PyObject* CallIt(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  try {
    const auto* caller = static_cast<const Caller*>(PyCapsule_GetPointer(self, kName));
    return caller->Call(arguments, count).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

py::object MakeCaller(const py::object& client, std::string kernel, const py::sequence& inputs, std::string output) {
  static PyMethodDef definition = {"caller", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&CallIt)),
                                   METH_FASTCALL, nullptr};
  auto caller = std::make_unique<Caller>(client, std::move(kernel), inputs, std::move(output));
  const py::capsule self(caller.release(), kName,
                         [](PyObject* capsule) { delete static_cast<Caller*>(PyCapsule_GetPointer(capsule, kName)); });
  return py::reinterpret_steal<py::object>(PyCFunction_NewEx(&definition, self.ptr(), nullptr));
}

}  // namespace

void BindCaller(py::module_& module) {
  module.def("caller", &MakeCaller, py::arg("client"), py::arg("kernel"), py::arg("inputs"), py::arg("output"));
}

}  // namespace hotplate::python
