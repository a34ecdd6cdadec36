// The protocol's messages as Python objects.
#pragma once

#include <google/protobuf/message.h>
#include <pybind11/pybind11.h>

namespace hotplate::python {

// A dict with every field under its own name: enumerations as their words, without the prefix that the language makes
// them have ("INT" for PARAM_TYPE_INT; dtypes as NumPy calls them), times as seconds of the Unix clock, durations as
// seconds, parameter values as what they are, maps as dicts. What may be absent and is has None, but the members of a
// choice: only the one that is there. Needs the GIL.
pybind11::dict ToDict(const google::protobuf::Message& message);

}  // namespace hotplate::python
