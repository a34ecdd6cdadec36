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

// Python's buffers that a call refers to, held until it is over. Made and destroyed with the GIL.
class HeldBuffers {
 public:
  HeldBuffers() = default;
  ~HeldBuffers() { Release(); }
  HeldBuffers(const HeldBuffers&) = delete;
  HeldBuffers& operator=(const HeldBuffers&) = delete;

  // TypeError, ValueError: not an array in C order with a dtype that the protocol has.
  client::ArrayView View(pybind11::handle array);
  // Of an array that may be written to.
  std::span<std::byte> Writable(pybind11::handle array);
  // A dict of names and arrays, ArrayRefs and PathRefs.
  std::map<std::string, client::Input> Inputs(const pybind11::dict& inputs);
  // Of all of them.
  std::size_t bytes() const;
  void Release();

 private:
  std::vector<Py_buffer> buffers_;
};

// A NumPy array over memory of the library's: no copy. One without axes becomes a scalar where `scalar` asks for that.
// TypeError for a dtype that NumPy has not.
pybind11::object ToNumpy(const Signature& signature, std::shared_ptr<HostBuffer> buffer, bool scalar = false);

// (dtype's name, shape)
pybind11::tuple ToTuple(const Signature& signature);

void BindArrays(pybind11::module_& module);

}  // namespace hotplate::python
