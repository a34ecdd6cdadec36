// NumPy's arrays and the library's, through the buffer protocol: one binary for all versions of NumPy.
#pragma once

#include <pybind11/pybind11.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/lib/client.h"

namespace hotplate::python {

// Python buffers of a call, held until it is over. Made and destroyed with the GIL.
class HeldBuffers {
 public:
  HeldBuffers() = default;
  ~HeldBuffers() { Release(); }
  HeldBuffers(const HeldBuffers&) = delete;
  HeldBuffers& operator=(const HeldBuffers&) = delete;

  // TypeError, ValueError: not an array in C order with a dtype of the protocol.
  client::ArrayView View(pybind11::handle array);
  // The bytes of an array that may be written to.
  std::span<std::byte> Writable(pybind11::handle array);
  // A dict of names and arrays, ArrayRefs and PathRefs.
  std::map<std::string, client::Input> Inputs(const pybind11::dict& inputs);
  // The total size of the buffers.
  std::size_t bytes() const;
  void Release();

 private:
  std::vector<Py_buffer> buffers_;
};

// A NumPy array over the library's memory, without a copy. If it has no axes and `scalar` is set, a scalar. TypeError
// for a dtype that NumPy lacks.
pybind11::object ToNumpy(const Signature& signature, std::shared_ptr<HostBuffer> buffer, bool scalar = false);

// (dtype's name, shape)
pybind11::tuple ToTuple(const Signature& signature);

void BindArrays(pybind11::module_& module);

}  // namespace hotplate::python
