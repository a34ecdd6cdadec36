// The catalogue's kernels with the static CUDA runtime and cuBLASLt.
#include "kernels/cuda/kernel_side.h"

#include <memory>
#include <string>

#include "kernels/cuda/lane_libraries.h"
#include "kernels/cuda/probe.h"
#include "kernels/cuda/runtime.h"

namespace hotplate {
namespace {

Outcome Probe() {
  const cudaError_t error = ProbeDeviceCode();
  const Outcome outcome = ToOutcome(error, "looking for device code");
  return error == cudaErrorNoKernelImageForDevice ? Outcome::Invalid("") : outcome;
}

Outcome LaunchStatus() { return ToOutcome(cudaGetLastError(), "launch"); }

LaneLibraries* OpenLibraries(Outcome& why) {
  auto libraries = std::make_unique<LaneLibraries>();
  cublasLtHandle_t blas = nullptr;
  if (const cublasStatus_t status = cublasLtCreate(&blas); status != CUBLAS_STATUS_SUCCESS) {
    static_cast<void>(cudaGetLastError());  // what cuBLASLt met is reported here, not by the first launch
    why = Outcome::Failed(std::string("cuBLASLt: ") + cublasLtGetStatusString(status));
    return nullptr;
  }
  libraries->blas.reset(blas);
  why = Outcome::Ok();
  return libraries.release();
}

void CloseTheLibraries(LaneLibraries* libraries) { delete libraries; }

}  // namespace

Outcome ToOutcome(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return Outcome::Ok();
  static_cast<void>(cudaGetLastError());  // (A sticky one stays.)
  return TranslateCudaError(error, what, cudaGetErrorName(error), cudaGetErrorString(error));
}

const KernelSide& ThisKernelSide() {
  static const KernelSide side = {
      .launchers = CudaLaunchers(),
      .architectures = HOTPLATE_CUDA_ARCHITECTURES,
      .runtime_version = CUDART_VERSION,
      .probe = Probe,
      .launch_status = LaunchStatus,
      .open_libraries = OpenLibraries,
      .close_libraries = CloseTheLibraries,
  };
  return side;
}

}  // namespace hotplate
