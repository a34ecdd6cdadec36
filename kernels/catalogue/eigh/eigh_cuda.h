// eigh's functions for the CUDA back-end beside RunCuda (kernels/devices/cuda/plugin/launchers.h). Needs no CUDA
// Toolkit.
#pragma once

#include <cstdint>

#include "kernels/call/call.h"
#include "kernels/devices/cuda/executor/context.h"

namespace hotplate::eigh {

// Its own scratch, and an estimate of the library's workspace.
std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);
// The same with the workspace that the library asks for.
Outcome LaneScratchCuda(const Call& call, CudaContext& context, std::uint64_t& bytes);
Outcome FinishCuda(const Call& call, CudaContext& context);

}  // namespace hotplate::eigh
