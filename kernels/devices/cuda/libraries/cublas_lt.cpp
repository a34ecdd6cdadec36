#include "kernels/devices/cuda/libraries/cublas_lt.h"

#include <dlfcn.h>

#include <cstdio>

#include "kernels/devices/cuda/plugin/lane_libraries.h"
#include "kernels/devices/cuda/plugin/libraries.h"

#define HOTPLATE_TEXT_OF(number) #number
#define HOTPLATE_TEXT(macro) HOTPLATE_TEXT_OF(macro)

namespace hotplate {

Outcome CublasLt::Load(void* opened, CublasLt& functions) {
  const char* missing = nullptr;
  const auto take = [&](const char* symbol, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, symbol));
    if (function == nullptr && missing == nullptr) missing = symbol;
  };
  char text[160];
  // First: a library of another major version may have all the names.
  take("cublasLtGetVersion", functions.cublasLtGetVersion);
  if (missing != nullptr) return Outcome::Invalid("it has no function cublasLtGetVersion");
  const std::size_t version = functions.cublasLtGetVersion();
  const std::size_t major = version / 10000, minor = version / 100 % 100, patch = version % 100;
  if (major != CUBLAS_VER_MAJOR) {
    std::snprintf(text, sizeof text, "it is version %zu.%zu.%zu, and this plug-in needs a version %d", major, minor,
                  patch, CUBLAS_VER_MAJOR);
    return Outcome::Invalid(text);
  }
  take("cublasLtGetStatusName", functions.cublasLtGetStatusName);
  take("cublasLtCreate", functions.cublasLtCreate);
  take("cublasLtDestroy", functions.cublasLtDestroy);
  take("cublasLtMatmul", functions.cublasLtMatmul);
  take("cublasLtMatmulAlgoGetHeuristic", functions.cublasLtMatmulAlgoGetHeuristic);
  take("cublasLtMatmulDescCreate", functions.cublasLtMatmulDescCreate);
  take("cublasLtMatmulDescDestroy", functions.cublasLtMatmulDescDestroy);
  take("cublasLtMatmulDescSetAttribute", functions.cublasLtMatmulDescSetAttribute);
  take("cublasLtMatrixLayoutCreate", functions.cublasLtMatrixLayoutCreate);
  take("cublasLtMatrixLayoutDestroy", functions.cublasLtMatrixLayoutDestroy);
  take("cublasLtMatrixLayoutSetAttribute", functions.cublasLtMatrixLayoutSetAttribute);
  take("cublasLtMatmulPreferenceCreate", functions.cublasLtMatmulPreferenceCreate);
  take("cublasLtMatmulPreferenceDestroy", functions.cublasLtMatmulPreferenceDestroy);
  take("cublasLtMatmulPreferenceSetAttribute", functions.cublasLtMatmulPreferenceSetAttribute);
  if (missing == nullptr) return Outcome::Ok();
  std::snprintf(text, sizeof text, "version %zu.%zu.%zu is too old: it has no function %s", major, minor, patch,
                missing);
  return Outcome::Invalid(text);
}

const CudaLibrary kCublasLt = {
    "libcublasLt.so." HOTPLATE_TEXT(CUBLAS_VER_MAJOR),
    [](void* opened, LaneLibraries& libraries) { return CublasLt::Load(opened, libraries.blas); },
};

}  // namespace hotplate
