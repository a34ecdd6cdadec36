// What a lane has of CUDA's libraries: functions, handles, and what they chose before. For files compiled with the CUDA
// Toolkit.
#pragma once

#include <cstdint>
#include <map>

#include "kernels/devices/cuda/libraries/cublas_lt.h"
#include "kernels/devices/cuda/libraries/cufft.h"
#include "kernels/devices/cuda/libraries/cusolver.h"
#include "kernels/devices/cuda/libraries/fourier.h"

namespace hotplate {

// What the algorithm of products that are made together depends on.
struct ProductKey {
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint64_t count = 1, a_step = 1, b_step = 1;  // products; matrices from one to the next, 0: the same for all
  bool transpose_a = false, transpose_b = false;
  int dtype = 0, precision = 0;
  std::uint32_t alignment = 0;  // of all matrices, in bytes

  auto operator<=>(const ProductKey&) const = default;
};

// One lane's, used by its thread only. A library's functions are null until a kernel that says that it needs the
// library (launchers.cpp) is about to run there for the first time; its handle is made by the kernel.
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
