// In the place of NVIDIA's: what the plug-in knows of cuSOLVER, which is LAPACK on the host here
// (cusolver_by_lapack.cpp). The routines for matrices have no names: the plug-in's table of them is filled there.
#pragma once

#include <cublasLt.h>
#include <library_types.h>

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names.
enum cusolverStatus_t {
  CUSOLVER_STATUS_SUCCESS,
  CUSOLVER_STATUS_NOT_INITIALIZED,
  CUSOLVER_STATUS_ALLOC_FAILED,
  CUSOLVER_STATUS_INVALID_VALUE,
  CUSOLVER_STATUS_INTERNAL_ERROR
};
enum cusolverEigMode_t { CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_VECTOR };
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT };

using cusolverDnHandle_t = struct cusolverDnContext*;

cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int* value);
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle);
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream);
// NOLINTEND(readability-identifier-naming)
