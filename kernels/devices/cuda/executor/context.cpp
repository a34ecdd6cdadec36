#include "kernels/devices/cuda/executor/context.h"

#include "kernels/devices/cuda/plugin/kernel_side.h"

namespace hotplate {

Outcome CudaContext::LaunchStatus() const { return ThisKernelSide().launch_status(); }

const CudaLauncher* KernelSide::Find(std::string_view kernel) const {
  for (const CudaLauncher& launcher : launchers) {
    if (kernel == launcher.name) return &launcher;
  }
  return nullptr;
}

}  // namespace hotplate
