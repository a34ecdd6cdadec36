// What the CUDA back-end is told of transfer_probe beside RunCuda (kernels/cuda/launchers.h). Needs no CUDA Toolkit.
#pragma once

#include <cstdint>

#include "kernels/call.h"
#include "kernels/cuda/traits.h"

namespace hotplate::transfer_probe {

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

}  // namespace hotplate::transfer_probe
