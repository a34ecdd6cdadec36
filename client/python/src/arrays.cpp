#include "client/python/src/arrays.h"

#include <pybind11/stl.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace hotplate::python {
namespace {

namespace py = pybind11;

// An object with the buffer protocol, written by hand: pybind11's would take half the time of a small result.
struct Memory {
  PyObject head;
  std::shared_ptr<HostBuffer> buffer;
};

PyTypeObject* MakeMemoryType() {
  static const auto get_buffer = [](PyObject* self, Py_buffer* view, int flags) {
    HostBuffer& buffer = *reinterpret_cast<Memory*>(self)->buffer;
    return PyBuffer_FillInfo(view, self, buffer.data(), static_cast<Py_ssize_t>(buffer.size()), 0, flags);
  };
  static const auto deallocate = [](PyObject* self) {
    PyTypeObject* const type = Py_TYPE(self);
    reinterpret_cast<Memory*>(self)->buffer.~shared_ptr();
    type->tp_free(self);
    Py_DECREF(type);
  };
  PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(+get_buffer)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(+deallocate)},
                         {0, nullptr}};
  PyType_Spec spec = {"hotplate._core.Memory", sizeof(Memory), 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  return reinterpret_cast<PyTypeObject*>(type);
}

// NumPy's functions for making arrays. Never freed: an object that outlives the interpreter must not be touched.
struct Numpy {
  py::object ndarray;
  std::array<py::object, kDTypeCount + 1> dtypes;
  // The type of objects that hold the library's memory; arrays are built over them.
  PyTypeObject* memory_type;

  static const Numpy& Instance() {
    static const Numpy* const instance = new Numpy;
    return *instance;
  }

 private:
  Numpy() {
    const py::module_ numpy = py::module_::import("numpy");
    ndarray = numpy.attr("ndarray");
    for (int number = 1; number <= kDTypeCount; ++number) {
      const DType dtype = static_cast<DType>(number);
      if (dtype != DType::kBFloat16) dtypes[number] = numpy.attr("dtype")(std::string(Name(dtype)));
    }
    memory_type = MakeMemoryType();
  }
};

// The dtype of a buffer's format in the struct module's notation; little-endian, like this machine.
std::optional<DType> ToDType(const Py_buffer& buffer) {
  std::string_view format = buffer.format == nullptr ? "B" : buffer.format;
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == '<')) format.remove_prefix(1);
  if (format == "Zf" && buffer.itemsize == 8) return DType::kComplex64;
  if (format == "Zd" && buffer.itemsize == 16) return DType::kComplex128;
  if (format.size() != 1) return std::nullopt;
  const auto of_size = [&](DType one, DType two, DType four, DType eight) -> std::optional<DType> {
    switch (buffer.itemsize) {
      case 1:
        return one;
      case 2:
        return two;
      case 4:
        return four;
      case 8:
        return eight;
      default:
        return std::nullopt;
    }
  };
  switch (format[0]) {
    case '?':
      return DType::kBool;
    case 'e':
      return DType::kFloat16;
    case 'f':
      return DType::kFloat32;
    case 'd':
      return DType::kFloat64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return of_size(DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return of_size(DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64);
    default:
      return std::nullopt;
  }
}

client::ArrayView ToView(DType dtype, const Py_buffer& buffer) {
  return {{dtype, Shape(buffer.shape, buffer.shape + buffer.ndim)},
          {static_cast<const std::byte*>(buffer.buf), static_cast<std::size_t>(buffer.len)}};
}

}  // namespace

client::ArrayView HeldBuffers::View(py::handle array) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) throw py::error_already_set();
  buffers_.push_back(buffer);
  const std::optional<DType> dtype = ToDType(buffer);
  if (!dtype) {
    throw py::type_error("arrays of element format '" + std::string(buffer.format) +
                         "' are not known: take a numeric dtype in this machine's byte order");
  }
  return ToView(*dtype, buffer);
}

std::span<std::byte> HeldBuffers::Writable(py::handle array) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) != 0) {
    throw py::error_already_set();
  }
  buffers_.push_back(buffer);
  return {static_cast<std::byte*>(buffer.buf), static_cast<std::size_t>(buffer.len)};
}

std::map<std::string, client::Input> HeldBuffers::Inputs(const py::dict& inputs) {
  std::map<std::string, client::Input> converted;
  for (const auto& [key, value] : inputs) {
    client::Input input;
    if (py::isinstance<client::ArrayRef>(value)) {
      input = value.cast<client::ArrayRef>();
    } else if (py::isinstance<client::PathRef>(value)) {
      input = value.cast<client::PathRef>();
    } else if (py::isinstance<client::OutputRef>(value)) {
      input = value.cast<client::OutputRef>();
    } else if (py::isinstance<client::ArraySource>(value)) {
      input = value.cast<client::ArraySource>();
    } else {
      input = View(value);
    }
    converted.emplace(key.cast<std::string>(), std::move(input));
  }
  return converted;
}

std::size_t HeldBuffers::bytes() const {
  std::size_t sum = 0;
  for (const Py_buffer& buffer : buffers_) sum += static_cast<std::size_t>(buffer.len);
  return sum;
}

void HeldBuffers::Release() {
  for (Py_buffer& buffer : buffers_) PyBuffer_Release(&buffer);
  buffers_.clear();
}

py::object ToNumpy(const Signature& signature, std::shared_ptr<HostBuffer> buffer, bool scalar) {
  const Numpy& numpy = Numpy::Instance();
  const py::object& dtype = numpy.dtypes[static_cast<std::size_t>(signature.dtype)];
  if (!dtype) {
    throw py::type_error("NumPy has no " + std::string(Name(signature.dtype)) + ": this array cannot come here");
  }
  py::tuple shape(signature.shape.size());
  for (std::size_t i = 0; i < signature.shape.size(); ++i) shape[i] = py::int_(signature.shape[i]);
  const auto memory = py::reinterpret_steal<py::object>(PyType_GenericAlloc(numpy.memory_type, 0));
  if (!memory) throw py::error_already_set();
  new (&reinterpret_cast<Memory*>(memory.ptr())->buffer) std::shared_ptr<HostBuffer>(std::move(buffer));
  PyObject* const arguments[] = {shape.ptr(), dtype.ptr(), memory.ptr()};
  auto array = py::reinterpret_steal<py::object>(PyObject_Vectorcall(numpy.ndarray.ptr(), arguments, 3, nullptr));
  if (array && scalar && signature.shape.empty()) {
    array = py::reinterpret_steal<py::object>(PyObject_GetItem(array.ptr(), shape.ptr()));
  }
  if (!array) throw py::error_already_set();
  return array;
}

py::tuple ToTuple(const Signature& signature) {
  py::tuple shape(signature.shape.size());
  for (std::size_t i = 0; i < signature.shape.size(); ++i) shape[i] = py::int_(signature.shape[i]);
  return py::make_tuple(std::string(Name(signature.dtype)), shape);
}

void BindArrays(py::module_& module) {
  Numpy::Instance();
  py::class_<client::ArrayRef>(module, "ArrayRef", "An array that the daemon holds, by its id or name.")
      .def(py::init<std::string>(), py::arg("id_or_name"))
      .def_readonly("id_or_name", &client::ArrayRef::id_or_name);
  py::class_<client::PathRef>(module, "PathRef", "A .npy file that the daemon can read, by its path.")
      .def(py::init<std::string>(), py::arg("path"))
      .def_readonly("path", &client::PathRef::path);
  py::class_<client::OutputRef>(module, "OutputRef",
                                "An output of another job: by the request id of a call on its way, or by the job's id.")
      .def(py::init([](std::string request_id, std::string output, std::string job_id) {
             return client::OutputRef{std::move(job_id), std::move(output), std::move(request_id)};
           }),
           py::arg("request_id"), py::arg("output"), py::arg("job_id") = "")
      .def_readonly("output", &client::OutputRef::output);
  // Without a way to read it, since a check sends signatures alone.
  py::class_<client::ArraySource>(module, "Signature", "An input of a check whose elements are not there.")
      .def(py::init([](const std::string& dtype, Shape shape) {
             const std::optional<DType> known = ParseDType(dtype);
             if (!known) throw py::value_error("there is no dtype " + dtype);
             return client::ArraySource{{*known, std::move(shape)}, nullptr};
           }),
           py::arg("dtype"), py::arg("shape"));
}

}  // namespace hotplate::python
