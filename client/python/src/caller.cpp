#include "client/python/src/caller.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/lib/wire.h"
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
    HeldBuffers held;
    std::map<std::string, client::Input> inputs;
    // What is uploaded may have to outlive the call, which is not for the short way.
    if (!Take(arguments, count, held, inputs) || client::HaveUploads(inputs))
      return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    return client_.RunOne(kernel_, inputs, output_);
  }

  // The first argument is what is called at the end.
  py::object Start(PyObject* const* arguments, Py_ssize_t count) const {
    if (count < 1) throw py::type_error("nothing to call at the end");
    auto call =
        std::make_shared<AsyncCall>(client::Cancellation(), py::reinterpret_borrow<py::object>(arguments[0]), output_);
    std::map<std::string, client::Input> inputs;
    if (!Take(arguments + 1, count - 1, call->held(), inputs))
      return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    client_.Launch(kernel_, std::move(inputs), {}, call);
    return py::cast(std::move(call));
  }

 private:
  static constexpr std::size_t kVariables = 8;

  static std::uint32_t Bit(DType dtype) { return std::uint32_t{1} << static_cast<int>(dtype); }

  // False where an argument is not to be taken as it is.
  bool Take(PyObject* const* arguments, Py_ssize_t count, HeldBuffers& held,
            std::map<std::string, client::Input>& inputs) const {
    if (static_cast<std::size_t>(count) != inputs_.size()) return false;
    std::array<std::optional<DType>, kVariables> chosen;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = inputs_[i];
      std::optional<client::ArrayView> view = held.ViewOfNdarray(arguments[i]);
      if (!view || !(Bit(view->signature.dtype) & input.dtypes)) return false;
      std::optional<DType>& dtype = chosen[input.variable % kVariables];
      if (dtype.value_or(view->signature.dtype) != view->signature.dtype) return false;
      dtype = view->signature.dtype;
      inputs.emplace_hint(inputs.end(), input.name, *std::move(view));
    }
    return true;
  }

  const py::object held_;
  const PyClient& client_;
  const std::string kernel_;
  std::vector<Input> inputs_;
  const std::string output_;
};

constexpr char kName[] = "hotplate.caller";

template <py::object (Caller::*method)(PyObject* const*, Py_ssize_t) const>
PyObject* CallIt(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  try {
    const auto* caller = static_cast<const Caller*>(PyCapsule_GetPointer(self, kName));
    return (caller->*method)(arguments, count).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

template <py::object (Caller::*method)(PyObject* const*, Py_ssize_t) const>
py::object MakeCaller(const py::object& client, std::string kernel, const py::sequence& inputs, std::string output) {
  static PyMethodDef definition = {
      "caller", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&CallIt<method>)), METH_FASTCALL, nullptr};
  auto caller = std::make_unique<Caller>(client, std::move(kernel), inputs, std::move(output));
  const py::capsule self(caller.release(), kName,
                         [](PyObject* capsule) { delete static_cast<Caller*>(PyCapsule_GetPointer(capsule, kName)); });
  return py::reinterpret_steal<py::object>(PyCFunction_NewEx(&definition, self.ptr(), nullptr));
}

}  // namespace

void BindCaller(py::module_& module) {
  module.def("caller", &MakeCaller<&Caller::Call>, py::arg("client"), py::arg("kernel"), py::arg("inputs"),
             py::arg("output"));
  module.def("starter", &MakeCaller<&Caller::Start>, py::arg("client"), py::arg("kernel"), py::arg("inputs"),
             py::arg("output"));
}

}  // namespace hotplate::python
