#include "client/python/src/arrays.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace hotplate::python {
namespace {

namespace py = pybind11;

// What arrays are made with. Never freed: an object that outlives the interpreter is not to be touched any more.
struct Numpy {
  py::object ndarray;
  std::array<py::object, kDTypeCount + 1> dtypes;

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
  }
};

// Of an element in the words of Python's struct module; little-endian, as this machine is.
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
  return {{*dtype, Shape(buffer.shape, buffer.shape + buffer.ndim)},
          {static_cast<const std::byte*>(buffer.buf), static_cast<std::size_t>(buffer.len)}};
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
    } else {
      input = View(value);
    }
    converted.emplace(key.cast<std::string>(), std::move(input));
  }
  return converted;
}

void HeldBuffers::Release() {
  for (Py_buffer& buffer : buffers_) PyBuffer_Release(&buffer);
  buffers_.clear();
}

py::object ToNumpy(const Signature& signature, const std::shared_ptr<HostBuffer>& buffer) {
  const Numpy& numpy = Numpy::Instance();
  const py::object& dtype = numpy.dtypes[static_cast<std::size_t>(signature.dtype)];
  if (!dtype)
    throw py::type_error("NumPy has no " + std::string(Name(signature.dtype)) + ": this array cannot come here");
  py::tuple shape(signature.shape.size());
  for (std::size_t i = 0; i < signature.shape.size(); ++i) shape[i] = py::int_(signature.shape[i]);
  return numpy.ndarray(shape, dtype, OwnedMemory{buffer});
}

py::tuple ToTuple(const Signature& signature) {
  py::tuple shape(signature.shape.size());
  for (std::size_t i = 0; i < signature.shape.size(); ++i) shape[i] = py::int_(signature.shape[i]);
  return py::make_tuple(std::string(Name(signature.dtype)), shape);
}

void BindArrays(py::module_& module) {
  Numpy::Instance();
  py::class_<OwnedMemory>(module, "OwnedMemory", py::buffer_protocol()).def_buffer([](OwnedMemory& memory) {
    return py::buffer_info(reinterpret_cast<unsigned char*>(memory.buffer->data()),
                           static_cast<py::ssize_t>(memory.buffer->size()));
  });
  py::class_<client::ArrayRef>(module, "ArrayRef", "An array that the daemon holds, by its id or name.")
      .def(py::init<std::string>(), py::arg("id_or_name"))
      .def_readonly("id_or_name", &client::ArrayRef::id_or_name);
  py::class_<client::PathRef>(module, "PathRef", "A .npy file that the daemon can read, by its path.")
      .def(py::init<std::string>(), py::arg("path"))
      .def_readonly("path", &client::PathRef::path);
}

}  // namespace hotplate::python
