// A lane's part of CUDA's libraries: functions, handles, and earlier choices. For files compiled with the CUDA Toolkit.
#pragma once

#include <cstdint>
#include <map>

#include "kernels/devices/cuda/libraries/cublas_lt.h"
#include "kernels/devices/cuda/libraries/cufft.h"
#include "kernels/devices/cuda/libraries/cusolver.h"
#include "kernels/devices/cuda/libraries/fourier.h"

namespace hotplate {

// The properties that decide the algorithm for a batch of products.
struct ProductKey {
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint64_t count = 1, a_step = 1, b_step = 1;  // products; matrices from one to the next, 0: the same for all
  bool transpose_a = false, transpose_b = false;
  int dtype = 0, precision = 0;
  std::uint32_t alignment = 0;  // of all matrices, in bytes

  auto operator<=>(const ProductKey&) const = default;
};

// One lane's, used by its thread only. A library's functions are null until the first kernel that needs the library
// (launchers.cpp) is about to run on the lane; the kernel makes the handle.
struct LaneLibraries {
  // Asking cuBLASLt for an algorithm takes longer than a small product.
  static constexpr std::size_t kMostAlgorithms = 256;

  CublasLt blas;
  OwnedByCublasLt<cublasLtHandle_t> blas_handle;
  std::map<ProductKey, cublasLtMatmulAlgo_t> algorithms;  // of products that were run

  Cusolver solver;
  OwnedCusolverHandle solver_handle;

  // Making a plan takes longer than a transform, and keeps some of the device's memory.
  static constexpr std::size_t kMostTransforms = 32;
  Cufft cufft;
  std::map<fourier::Batch, CufftPlan> transforms;  // that were run
};

// To be called where a library's call has failed: that is reported there, and not by the next launch.
void ClearLaunchError();

}  // namespace hotplate
