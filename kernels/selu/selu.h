// selu: see the summary in selu.cpp.
#pragma once

#include "kernels/spec.h"

namespace hotplate::selu {
KernelSpec Spec();
}  // namespace hotplate::selu
