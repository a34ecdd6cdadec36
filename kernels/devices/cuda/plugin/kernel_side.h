// The kernels of a plug-in, beside the executor, with their needs of the CUDA runtime and libraries. kernel_side.cpp is
// the catalogue's; tests link their own, whose kernels run on the host.
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
  // Returns and clears the error of the last launch on this thread.
  Outcome (*launch_status)();
  // Makes a lane's libraries, none of them loaded yet; and closes them, with the lane's context current.
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
