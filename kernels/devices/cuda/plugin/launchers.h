// The catalogue's kernels, by name.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/call/call.h"
#include "kernels/devices/cuda/executor/context.h"

namespace hotplate {

struct LaneLibraries;  // one lane's part of CUDA's libraries: lane_libraries.h

// One of CUDA's libraries that kernels call. The plug-in is not linked with it: it is searched when the plug-in is
// opened, and opened when the first of these kernels runs. Without it these kernels are not available; the others are.
struct CudaLibrary {
  const char* name;  // "libcublasLt.so.13"
  // Takes its functions from the handle that dlopen returned. INVALID says what is wrong: another version, or a missing
  // function. Does not use the device.
  Outcome (*take)(void* opened, LaneLibraries& libraries);
  // For a call that must give the same bits each time: INVALID, and why the library cannot promise that. Null if it
  // always does: its choices depend only on the call and the device.
  Outcome (*same_bits)(const LaneLibraries& libraries) = nullptr;
};

struct CudaLauncher {
  const char* name;
  // Enqueues on context.stream(). The call has passed the spec; its arrays and scratch lie in device memory, each on a
  // multiple of 256 bytes. Allocates nothing.
  Outcome (*run)(const Call& call, CudaContext& context);
  // Bytes of scratch that run will find; null for none. Reads the call's signature only.
  std::uint64_t (*scratch_bytes)(const Call& call, const CudaTraits& traits) = nullptr;
  const CudaLibrary* library = nullptr;  // called by run; null for none
  // For libraries that know their workspace only on a lane: all of the scratch for run, if it is more than
  // scratch_bytes, which plans then use. Null for none.
  Outcome (*lane_scratch_bytes)(const Call& call, CudaContext& context, std::uint64_t& bytes) = nullptr;
  // Called when everything that run enqueued has ended, outputs included: the result, if only the device knows it (a
  // library's info values). The call's arrays are the device's; context.host_words() are as the device left them. Null
  // for none.
  Outcome (*finish)(const Call& call, CudaContext& context) = nullptr;
  // CUDA's library by which the kernel's device code is compiled, by CudaContext::LoadCode: searched when the plug-in
  // is opened, and used in another process only. Null for none. Without it the kernel is not available.
  const char* compiler = nullptr;
};

std::span<const CudaLauncher> CudaLaunchers();

}  // namespace hotplate
