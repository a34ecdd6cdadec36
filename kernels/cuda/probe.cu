#include "kernels/cuda/probe.h"

namespace hotplate {
namespace {
__global__ void Nothing() {}
}  // namespace

cudaError_t ProbeDeviceCode() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, Nothing);
}

}  // namespace hotplate
