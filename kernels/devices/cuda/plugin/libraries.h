// CUDA's libraries as launchers.cpp names them. Needs nothing of the CUDA Toolkit.
#pragma once

#include "kernels/devices/cuda/plugin/launchers.h"

namespace hotplate {

extern const CudaLibrary kCublasLt;  // cublas_lt.h
extern const CudaLibrary kCufft;     // cufft.h
extern const CudaLibrary kCusolver;  // cusolver.h

}  // namespace hotplate
