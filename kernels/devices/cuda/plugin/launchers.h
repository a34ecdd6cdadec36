// The catalogue's kernels, by name.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/call/call.h"
#include "kernels/devices/cuda/executor/context.h"

namespace hotplate {

struct LaneLibraries;  // what one lane has of CUDA's libraries: lane_libraries.h

// One of CUDA's libraries that kernels call. The plug-in is not linked with it: it is looked for when the plug-in is
// opened, and opened when the first of these kernels runs. Without it these kernels are not available, the others are.
struct CudaLibrary {
  const char* name;  // "libcublasLt.so.13"
  // Takes its functions from what dlopen returned. INVALID and what is wrong with it: another version, or a function
  // missing. Makes no use of the device.
  Outcome (*take)(void* opened, LaneLibraries& libraries);
  // Asked of what was taken, for a call that is to have the same bits each time: INVALID, and why it cannot promise
  // that. Null where it always does: its choices depend on the call and the device alone.
  Outcome (*same_bits)(const LaneLibraries& libraries) = nullptr;
};

struct CudaLauncher {
  const char* name;
  // Enqueues on context.stream(). The call has passed the spec; its arrays and scratch lie in device memory, each on a
  // multiple of 256 bytes. Allocates nothing.
  Outcome (*run)(const Call& call, CudaContext& context);
  // Bytes of scratch that run will find; null for none. Reads the call's signature only.
  std::uint64_t (*scratch_bytes)(const Call& call, const CudaTraits& traits) = nullptr;
  const CudaLibrary* library = nullptr;  // that run calls; null for none
  // Where a library says only on a lane how much it wants: all of the scratch that run will find, if it is more than
  // scratch_bytes, which then is what plans go by. Null for none.
  Outcome (*lane_scratch_bytes)(const Call& call, CudaContext& context, std::uint64_t& bytes) = nullptr;
  // Called when all that run enqueued is over, outputs included: what became of it, where the device alone knows (a
  // library's info values). The call's arrays are the device's; context.host_words() are as the device left them. Null
  // for none.
  Outcome (*finish)(const Call& call, CudaContext& context) = nullptr;
};

std::span<const CudaLauncher> CudaLaunchers();

}  // namespace hotplate
