// The CUDA runtime for kernels: for .cu files and what else is compiled with the CUDA Toolkit, 12.0 or later. Whatever
// differs between its versions is told apart here and nowhere else.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/devices/cuda/executor/context.h"

static_assert(CUDART_VERSION >= 12000, "Hotplate's CUDA back-end needs the CUDA Toolkit 12.0 or later");

namespace hotplate {

// What a call of the runtime returned, as an outcome; an error is cleared, so that the next call does not find it.
Outcome ToOutcome(cudaError_t error, std::string_view what);

}  // namespace hotplate
