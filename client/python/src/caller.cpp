#include "client/python/src/caller.h"

#include <structmember.h>

#include <array>
#include <cstddef>
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

// _core.ShortFirst, by hand: to find a __call__ in a class of Python's, and a frame for it, costs as much as all that
// is done here for a small call.
struct ShortFirst {
  PyObject head;
  PyObject* short_way;
};

PyObject* CallShortFirst(PyObject* self, PyObject* arguments, PyObject* keywords) {
  PyObject* const short_way = reinterpret_cast<ShortFirst*>(self)->short_way;
  const bool plain = keywords == nullptr || PyDict_GET_SIZE(keywords) == 0;
  if (plain && short_way != nullptr && short_way != Py_None) {
    Py_INCREF(short_way);  // while it waits, without the GIL, another thread may set another
    PyObject* const value = PyObject_Call(short_way, arguments, nullptr);
    Py_DECREF(short_way);
    if (value != Py_NotImplemented) return value;
    Py_DECREF(value);
  }
  PyObject* const long_way = PyObject_GetAttrString(self, "_long_way");
  if (long_way == nullptr) return nullptr;
  PyObject* const value = PyObject_Call(long_way, arguments, keywords);
  Py_DECREF(long_way);
  return value;
}

void BindShortFirst(py::module_& module) {
  static const auto deallocate = [](PyObject* self) {
    PyTypeObject* const type = Py_TYPE(self);
    Py_CLEAR(reinterpret_cast<ShortFirst*>(self)->short_way);
    type->tp_free(self);
    Py_DECREF(type);
  };
  static PyMemberDef members[] = {{"_short_way", T_OBJECT_EX, offsetof(ShortFirst, short_way), 0, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  static char docs[] = "What is called by its short way where it can be.";
  PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&CallShortFirst)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(+deallocate)},
                         {Py_tp_members, members},
                         {Py_tp_doc, docs},
                         {0, nullptr}};
  PyType_Spec spec = {"hotplate._core.ShortFirst", sizeof(ShortFirst), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                      slots};
  const auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  if (!type) throw py::error_already_set();
  module.attr("ShortFirst") = type;
}

}  // namespace

void BindCaller(py::module_& module) {
  BindShortFirst(module);
  module.def("caller", &MakeCaller<&Caller::Call>, py::arg("client"), py::arg("kernel"), py::arg("inputs"),
             py::arg("output"));
  module.def("starter", &MakeCaller<&Caller::Start>, py::arg("client"), py::arg("kernel"), py::arg("inputs"),
             py::arg("output"));
}

}  // namespace hotplate::python
