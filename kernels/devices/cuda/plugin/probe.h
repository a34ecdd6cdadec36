// Whether the plug-in holds code for the current device.
#pragma once

#include <cuda_runtime_api.h>

namespace hotplate {

// cudaErrorNoKernelImageForDevice if not.
cudaError_t ProbeDeviceCode();

}  // namespace hotplate
