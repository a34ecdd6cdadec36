// The CUDA runtime for kernels: for .cu files and other files compiled with the CUDA Toolkit, 12.0 or later.
// Differences between its versions are handled here and nowhere else.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/devices/cuda/executor/context.h"

static_assert(CUDART_VERSION >= 12000, "Hotplate's CUDA back-end needs the CUDA Toolkit 12.0 or later");

namespace hotplate {

// The result of a runtime call, as an outcome. Clears an error, so that the next call does not see it.
Outcome ToOutcome(cudaError_t error, std::string_view what);

}  // namespace hotplate
