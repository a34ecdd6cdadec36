// cuSOLVER's functions for dense matrices, from a library that was opened at run time. For files compiled with the CUDA
// Toolkit.
#pragma once

#include <cusolverDn.h>

#include <memory>
#include <type_traits>

#include "kernels/call/call.h"

namespace hotplate {

// For T = float cuSOLVER's cusolverDnS…, for double its cusolverDnD….
template <typename T>
struct CusolverRoutines {
  using Status = cusolverStatus_t;
  using Handle = cusolverDnHandle_t;

  Status (*potrf_size)(Handle, cublasFillMode_t, int, T*, int, int*) = nullptr;
  Status (*potrf)(Handle, cublasFillMode_t, int, T*, int, T*, int, int*) = nullptr;
  Status (*getrf_size)(Handle, int, int, T*, int, int*) = nullptr;
  Status (*getrf)(Handle, int, int, T*, int, T*, int*, int*) = nullptr;
  Status (*getrs)(Handle, cublasOperation_t, int, int, const T*, int, const int*, T*, int, int*) = nullptr;
  Status (*syevd_size)(Handle, cusolverEigMode_t, cublasFillMode_t, int, const T*, int, const T*, int*) = nullptr;
  Status (*syevd)(Handle, cusolverEigMode_t, cublasFillMode_t, int, T*, int, T*, T*, int, int*) = nullptr;
  Status (*gesvd_size)(Handle, int, int, int*) = nullptr;
  Status (*gesvd)(Handle, signed char, signed char, int, int, T*, int, T*, T*, int, T*, int, T*, int, T*,
                  int*) = nullptr;
  Status (*geqrf_size)(Handle, int, int, T*, int, int*) = nullptr;
  Status (*geqrf)(Handle, int, int, T*, int, T*, T*, int, int*) = nullptr;
  Status (*ormqr_size)(Handle, cublasSideMode_t, cublasOperation_t, int, int, int, const T*, int, const T*, const T*,
                       int, int*) = nullptr;
  Status (*ormqr)(Handle, cublasSideMode_t, cublasOperation_t, int, int, int, const T*, int, const T*, T*, int, T*, int,
                  int*) = nullptr;
};

struct Cusolver {
  decltype(&::cusolverGetProperty) cusolverGetProperty = nullptr;
  decltype(&::cusolverDnCreate) cusolverDnCreate = nullptr;
  decltype(&::cusolverDnDestroy) cusolverDnDestroy = nullptr;
  decltype(&::cusolverDnSetStream) cusolverDnSetStream = nullptr;
  // Null in libraries before CUDA 12.2, whose headers lack its type.
  cusolverStatus_t (*cusolverDnSetDeterministicMode)(cusolverDnHandle_t, int mode) = nullptr;
  static constexpr int kDeterministicResults = 1;  // CUSOLVER_DETERMINISTIC_RESULTS
  CusolverRoutines<float> in_float;
  CusolverRoutines<double> in_double;

  template <typename T>
  const CusolverRoutines<T>& In() const {
    if constexpr (std::is_same_v<T, float>) {
      return in_float;
    } else {
      return in_double;
    }
  }

  // Fills the table from the handle that dlopen returned. INVALID: another major version than the plug-in was built
  // with, or a missing function (the first is named).
  static Outcome Load(void* opened, Cusolver& functions);
};

struct DestroyedByCusolver {
  cusolverStatus_t (*destroy)(cusolverDnHandle_t) = nullptr;
  void operator()(cusolverDnHandle_t handle) const { static_cast<void>(destroy(handle)); }
};
using OwnedCusolverHandle = std::unique_ptr<std::remove_pointer_t<cusolverDnHandle_t>, DestroyedByCusolver>;

}  // namespace hotplate
