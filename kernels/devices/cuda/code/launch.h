// Starting a kernel. The only place with CUDA's own syntax for it, so that tests can put the host in a device's place
// and run the same kernels there.
#pragma once

#include "kernels/devices/cuda/plugin/runtime.h"

namespace hotplate {

// Enqueues the kernel on the context's stream. `blocks` must not be 0. Does not wait.
template <typename... Parameters, typename... Arguments>
Outcome Launch(CudaContext& context, void (*kernel)(Parameters...), std::uint64_t blocks, int threads,
               const Arguments&... arguments) {
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, context.stream()>>>(arguments...);
  return context.LaunchStatus();
}

}  // namespace hotplate
