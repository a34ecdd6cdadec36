// In the place of kernels/devices/cuda/executor/device_code.cpp: the kernels of the catalogue, which are emulated here,
// compile no code. tests/unit/cuda/expressions runs what does.
#include "kernels/devices/cuda/executor/context.h"

namespace hotplate {

class LoadedCode {};

Outcome CudaContext::LoadCode(const std::string& /*source*/) { return Outcome::Failed("no code is compiled here"); }

Outcome CudaContext::LaunchLoaded(const char* function, std::uint64_t /*blocks*/, unsigned /*threads*/,
                                  std::span<void*> /*parameters*/) {
  return Outcome::Failed(std::string("no code is loaded that has ") + function);
}

}  // namespace hotplate
