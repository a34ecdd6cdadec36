// The short way of a call: arrays as they are, no keywords, one result.
#pragma once

#include <pybind11/pybind11.h>

namespace hotplate::python {

// _core.caller(client, kernel, inputs, output): a function of as many arrays as there are `inputs`, each (name, number
// of its type variable, dtypes). It runs the kernel and returns the output, or NotImplemented, having done nothing,
// where an argument is anything but a C-contiguous ndarray of a dtype that the kernel takes, the same for each
// variable: the long way (hotplate/calls.py) knows what to do then. A small call is as fast as it touches little: this
// one touches no Python code and makes no Python object but the result.
//
// _core.starter(the same): a function of a callable and the arrays. It starts the kernel and returns its InFlight, or
// NotImplemented; at the end it calls callable(output or None, Result or None, exception or None).
//
// _core.ShortFirst: a base for classes with a method `_long_way`. To call one of theirs is to call its `_short_way`,
// where that is not None and there are no keywords, and `_long_way` otherwise and where it returns NotImplemented.
void BindCaller(pybind11::module_& module);

}  // namespace hotplate::python
