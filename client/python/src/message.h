// The protocol's messages as Python objects.
#pragma once

#include <google/protobuf/message.h>
#include <pybind11/pybind11.h>

namespace hotplate::python {

// A dict with every field under its own name: enumerations as words without their prefix ("INT" for PARAM_TYPE_INT;
// dtypes by NumPy's names), times as seconds of the Unix clock, durations as seconds, parameter values as plain values,
// maps as dicts. Absent optional fields are None; of a oneof only the present member is included. Needs the GIL.
pybind11::dict ToDict(const google::protobuf::Message& message);

}  // namespace hotplate::python
