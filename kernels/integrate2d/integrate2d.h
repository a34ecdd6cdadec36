// integrate2d: see the summary in integrate2d.cpp.
#pragma once

#include "kernels/spec.h"

namespace hotplate::integrate2d {
KernelSpec Spec();
}  // namespace hotplate::integrate2d
