// In the place of NVIDIA's: what the plug-in knows of cuFFT, which is sums on the host here (cufft_by_sums.cpp).
#pragma once

#include <library_types.h>

#include <cstddef>

#include "kernels/devices/cuda/code/launch.h"

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names.
enum cufftResult {
  CUFFT_SUCCESS,
  CUFFT_INVALID_PLAN,
  CUFFT_ALLOC_FAILED,
  CUFFT_INVALID_TYPE,
  CUFFT_INVALID_VALUE,
  CUFFT_INTERNAL_ERROR
};
enum cufftType { CUFFT_C2C, CUFFT_R2C, CUFFT_C2R, CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D };
constexpr int CUFFT_FORWARD = -1, CUFFT_INVERSE = 1;

using cufftHandle = int;
using cufftReal = float;
using cufftDoubleReal = double;
struct cufftComplex {
  float x, y;
};
struct cufftDoubleComplex {
  double x, y;
};

cufftResult cufftGetProperty(libraryPropertyType type, int* value);
cufftResult cufftCreate(cufftHandle* plan);
cufftResult cufftDestroy(cufftHandle plan);
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream);
cufftResult cufftSetAutoAllocation(cufftHandle plan, int automatic);
cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long* sizes, long long* in_embed, long long in_stride,
                                long long in_distance, long long* out_embed, long long out_stride,
                                long long out_distance, cufftType type, long long count, std::size_t* workspace_bytes);
cufftResult cufftSetWorkArea(cufftHandle plan, void* workspace);
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* from, cufftComplex* to, int direction);
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* from, cufftDoubleComplex* to, int direction);
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* from, cufftComplex* to);
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* from, cufftDoubleComplex* to);
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* from, cufftReal* to);
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* from, cufftDoubleReal* to);
// NOLINTEND(readability-identifier-naming)
