// The language of expressions: what a text gives, found without asking a daemon.
#pragma once

#include <pybind11/pybind11.h>

namespace hotplate::python {

// _core.check_expression and _core.expression_names
void BindExpressions(pybind11::module_& module);

}  // namespace hotplate::python
