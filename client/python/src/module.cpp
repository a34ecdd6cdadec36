// hotplate._core: the client library for Python. hotplate/_core.pyi describes its functions and classes.
#include <pybind11/pybind11.h>

#include "absl/synchronization/mutex.h"
#include "client/python/src/arrays.h"
#include "client/python/src/async_call.h"
#include "client/python/src/client.h"
#include "client/python/src/expressions.h"
#include "client/python/src/options.h"

PYBIND11_MODULE(_core, module) {
  // A debugging aid that Debian's build of Abseil has on: each lock and unlock of gRPC's goes through a graph of them
  // all.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  module.doc() = "The client library of Hotplate: what the package hotplate is made over.";
  module.attr("__version__") = HOTPLATE_VERSION;
  hotplate::python::BindArrays(module);
  hotplate::python::BindOptions(module);
  hotplate::python::BindExpressions(module);
  hotplate::python::BindAsyncCall(module);
  hotplate::python::BindClient(module);
}
