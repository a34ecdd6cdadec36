// matmul: see the summary in matmul.cpp.
#pragma once

#include "kernels/spec.h"

namespace hotplate::matmul {
KernelSpec Spec();
}  // namespace hotplate::matmul
