// The catalogue's kernels, by name.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/call.h"
#include "kernels/cuda/context.h"

namespace hotplate {

struct CudaLauncher {
  const char* name;
  // Enqueues on context.stream(). The call has passed the spec; its arrays and scratch lie in device memory, each on a
  // multiple of 256 bytes. Allocates nothing.
  Outcome (*run)(const Call& call, CudaContext& context);
  // Bytes of scratch that run will find; null for none. Reads the call's signature only.
  std::uint64_t (*scratch_bytes)(const Call& call, const CudaTraits& traits) = nullptr;
};

std::span<const CudaLauncher> CudaLaunchers();

}  // namespace hotplate
