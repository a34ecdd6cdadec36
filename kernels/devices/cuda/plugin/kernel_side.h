// What a plug-in brings beside the executor: the kernels, and what of the CUDA runtime and its libraries they need.
// kernel_side.cpp is the catalogue's; tests link one of their own, whose kernels run on the host.
#pragma once

#include "kernels/call/call.h"
#include "kernels/devices/cuda/plugin/launchers.h"

namespace hotplate {

struct KernelSide {
  std::span<const CudaLauncher> launchers;
  const char* architectures;  // for messages: "75 80 90"
  int runtime_version;        // 13000
  // With a device's context current: whether there is code for the device. INVALID if not, without a message.
  Outcome (*probe)();
  // Reads and clears what the last launch on this thread met.
  Outcome (*launch_status)();
  // A lane's, none of them taken yet; and their end, with the lane's context current.
  LaneLibraries* (*make_libraries)();
  void (*close_libraries)(LaneLibraries* libraries);

  // Null if there is none.
  const CudaLauncher* Find(std::string_view kernel) const;
};

const KernelSide& ThisKernelSide();

struct CloseLibraries {
  void operator()(LaneLibraries* libraries) const { ThisKernelSide().close_libraries(libraries); }
};
using OwnedLibraries = std::unique_ptr<LaneLibraries, CloseLibraries>;

}  // namespace hotplate
