// vector_add: see the summary in vector_add.cpp.
#pragma once

#include "kernels/spec.h"

namespace hotplate::vector_add {
KernelSpec Spec();
}  // namespace hotplate::vector_add
