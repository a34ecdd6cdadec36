// expression's functions for the CUDA back-end beside RunCuda (kernels/devices/cuda/plugin/launchers.h). Needs no CUDA
// Toolkit.
#pragma once

#include <cstdint>

#include "kernels/call/call.h"
#include "kernels/devices/cuda/executor/context.h"

// Of the plug-in's own CUDA: what it makes, the driver of that version takes. Read by the table of launchers alone,
// which is compiled with the plug-in.
#ifndef HOTPLATE_NVRTC
#define HOTPLATE_NVRTC "libnvrtc.so.13"
#endif

namespace hotplate::expression {

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);
// The same; compiles and loads the expression's code, which may take a while.
Outcome LaneScratchCuda(const Call& call, CudaContext& context, std::uint64_t& bytes);
// INVALID: an index is out of bounds, or an integer has a negative power.
Outcome FinishCuda(const Call& call, CudaContext& context);

// CudaLauncher::compiler.
constexpr char kCompiler[] = HOTPLATE_NVRTC;

}  // namespace hotplate::expression
