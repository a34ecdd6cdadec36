#include "kernels/devices/cuda/plugin/probe.h"

namespace hotplate {
namespace {
__global__ void Nothing() {}
}  // namespace

cudaError_t ProbeDeviceCode() {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, Nothing);
  // Depending on how lazily modules are loaded, a kernel without code for the device is unknown.
  return error == cudaErrorInvalidDeviceFunction ? cudaErrorNoKernelImageForDevice : error;
}

}  // namespace hotplate
