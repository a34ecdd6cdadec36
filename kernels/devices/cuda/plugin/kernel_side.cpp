// The catalogue's kernels with the static CUDA runtime.
#include "kernels/devices/cuda/plugin/kernel_side.h"

#include "kernels/devices/cuda/plugin/lane_libraries.h"
#include "kernels/devices/cuda/plugin/probe.h"
#include "kernels/devices/cuda/plugin/runtime.h"

namespace hotplate {
namespace {

Outcome Probe() {
  const cudaError_t error = ProbeDeviceCode();
  const Outcome outcome = ToOutcome(error, "looking for device code");
  return error == cudaErrorNoKernelImageForDevice ? Outcome::Invalid("") : outcome;
}

Outcome LaunchStatus() { return ToOutcome(cudaGetLastError(), "launch"); }

LaneLibraries* MakeLibraries() { return new LaneLibraries; }

void CloseTheLibraries(LaneLibraries* libraries) { delete libraries; }

}  // namespace

void ClearLaunchError() { static_cast<void>(cudaGetLastError()); }  // (A sticky one stays.)

Outcome ToOutcome(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return Outcome::Ok();
  ClearLaunchError();
  return TranslateCudaError(error, what, cudaGetErrorName(error), cudaGetErrorString(error));
}

const KernelSide& ThisKernelSide() {
  static const KernelSide side = {
      .launchers = CudaLaunchers(),
      .architectures = HOTPLATE_CUDA_ARCHITECTURES,
      .runtime_version = CUDART_VERSION,
      .probe = Probe,
      .launch_status = LaunchStatus,
      .make_libraries = MakeLibraries,
      .close_libraries = CloseTheLibraries,
  };
  return side;
}

}  // namespace hotplate
