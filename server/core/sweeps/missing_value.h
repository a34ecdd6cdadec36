// The value in an array where a task has left no result.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/array/shape.h"

namespace hotplate::core {

// NaN where the dtype has one (in both parts of a complex number), else 0. `bytes`: whole elements.
void FillMissing(DType dtype, std::span<std::byte> bytes);

}  // namespace hotplate::core
