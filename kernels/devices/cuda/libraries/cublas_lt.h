// cuBLASLt's functions, by their own names, from a library that was opened at run time. For files compiled with the
// CUDA Toolkit.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <type_traits>

#include "kernels/call/call.h"

namespace hotplate {

struct CublasLt {
  decltype(&::cublasLtGetVersion) cublasLtGetVersion = nullptr;
  decltype(&::cublasLtGetStatusName) cublasLtGetStatusName = nullptr;
  decltype(&::cublasLtCreate) cublasLtCreate = nullptr;
  decltype(&::cublasLtDestroy) cublasLtDestroy = nullptr;
  decltype(&::cublasLtMatmul) cublasLtMatmul = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) cublasLtMatmulAlgoGetHeuristic = nullptr;
  decltype(&::cublasLtMatmulDescCreate) cublasLtMatmulDescCreate = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) cublasLtMatmulDescDestroy = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) cublasLtMatmulDescSetAttribute = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) cublasLtMatrixLayoutCreate = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) cublasLtMatrixLayoutDestroy = nullptr;
  decltype(&::cublasLtMatrixLayoutSetAttribute) cublasLtMatrixLayoutSetAttribute = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) cublasLtMatmulPreferenceCreate = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) cublasLtMatmulPreferenceDestroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) cublasLtMatmulPreferenceSetAttribute = nullptr;

  // Fills the table from the handle that dlopen returned. INVALID: another major version than the plug-in was built
  // with, or a missing function (the first is named).
  static Outcome Load(void* opened, CublasLt& functions);
};

// A handle destroyed by one of these functions. Its result is dropped: it can only be the loss of the device, which
// earlier calls have reported already.
template <typename Handle>
struct DestroyedByCublasLt {
  cublasStatus_t (*destroy)(Handle) = nullptr;
  void operator()(Handle handle) const { static_cast<void>(destroy(handle)); }
};
template <typename Handle>
using OwnedByCublasLt = std::unique_ptr<std::remove_pointer_t<Handle>, DestroyedByCublasLt<Handle>>;

}  // namespace hotplate
