#include "kernels/devices/cuda/libraries/cusolver.h"

#include <dlfcn.h>

#include <cstdio>

#include "kernels/devices/cuda/plugin/lane_libraries.h"
#include "kernels/devices/cuda/plugin/libraries.h"

#define HOTPLATE_TEXT_OF(number) #number
#define HOTPLATE_TEXT(macro) HOTPLATE_TEXT_OF(macro)

namespace hotplate {
namespace {

// Takes functions one by one, and remembers the first that is missing.
class Taker {
 public:
  explicit Taker(void* opened) : opened_(opened) {}

  // Declared: the function's type by the header.
  template <typename Declared>
  void Take(const char* symbol, Declared& function) {
    function = reinterpret_cast<Declared>(dlsym(opened_, symbol));
    if (function == nullptr && missing_ == nullptr) missing_ = symbol;
  }
  const char* missing() const { return missing_; }

 private:
  void* const opened_;
  const char* missing_ = nullptr;
};

void TakeFloat(Taker& taker, CusolverRoutines<float>& f) {
  taker.Take<decltype(&::cusolverDnSpotrf_bufferSize)>("cusolverDnSpotrf_bufferSize", f.potrf_size);
  taker.Take<decltype(&::cusolverDnSpotrf)>("cusolverDnSpotrf", f.potrf);
  taker.Take<decltype(&::cusolverDnSgetrf_bufferSize)>("cusolverDnSgetrf_bufferSize", f.getrf_size);
  taker.Take<decltype(&::cusolverDnSgetrf)>("cusolverDnSgetrf", f.getrf);
  taker.Take<decltype(&::cusolverDnSgetrs)>("cusolverDnSgetrs", f.getrs);
  taker.Take<decltype(&::cusolverDnSsyevd_bufferSize)>("cusolverDnSsyevd_bufferSize", f.syevd_size);
  taker.Take<decltype(&::cusolverDnSsyevd)>("cusolverDnSsyevd", f.syevd);
  taker.Take<decltype(&::cusolverDnSgesvd_bufferSize)>("cusolverDnSgesvd_bufferSize", f.gesvd_size);
  taker.Take<decltype(&::cusolverDnSgesvd)>("cusolverDnSgesvd", f.gesvd);
  taker.Take<decltype(&::cusolverDnSgeqrf_bufferSize)>("cusolverDnSgeqrf_bufferSize", f.geqrf_size);
  taker.Take<decltype(&::cusolverDnSgeqrf)>("cusolverDnSgeqrf", f.geqrf);
  taker.Take<decltype(&::cusolverDnSormqr_bufferSize)>("cusolverDnSormqr_bufferSize", f.ormqr_size);
  taker.Take<decltype(&::cusolverDnSormqr)>("cusolverDnSormqr", f.ormqr);
}

void TakeDouble(Taker& taker, CusolverRoutines<double>& f) {
  taker.Take<decltype(&::cusolverDnDpotrf_bufferSize)>("cusolverDnDpotrf_bufferSize", f.potrf_size);
  taker.Take<decltype(&::cusolverDnDpotrf)>("cusolverDnDpotrf", f.potrf);
  taker.Take<decltype(&::cusolverDnDgetrf_bufferSize)>("cusolverDnDgetrf_bufferSize", f.getrf_size);
  taker.Take<decltype(&::cusolverDnDgetrf)>("cusolverDnDgetrf", f.getrf);
  taker.Take<decltype(&::cusolverDnDgetrs)>("cusolverDnDgetrs", f.getrs);
  taker.Take<decltype(&::cusolverDnDsyevd_bufferSize)>("cusolverDnDsyevd_bufferSize", f.syevd_size);
  taker.Take<decltype(&::cusolverDnDsyevd)>("cusolverDnDsyevd", f.syevd);
  taker.Take<decltype(&::cusolverDnDgesvd_bufferSize)>("cusolverDnDgesvd_bufferSize", f.gesvd_size);
  taker.Take<decltype(&::cusolverDnDgesvd)>("cusolverDnDgesvd", f.gesvd);
  taker.Take<decltype(&::cusolverDnDgeqrf_bufferSize)>("cusolverDnDgeqrf_bufferSize", f.geqrf_size);
  taker.Take<decltype(&::cusolverDnDgeqrf)>("cusolverDnDgeqrf", f.geqrf);
  taker.Take<decltype(&::cusolverDnDormqr_bufferSize)>("cusolverDnDormqr_bufferSize", f.ormqr_size);
  taker.Take<decltype(&::cusolverDnDormqr)>("cusolverDnDormqr", f.ormqr);
}

}  // namespace

Outcome Cusolver::Load(void* opened, Cusolver& functions) {
  char text[160];
  Taker taker(opened);
  // First: a library of another major version may have all the names.
  taker.Take("cusolverGetProperty", functions.cusolverGetProperty);
  if (taker.missing() != nullptr) return Outcome::Invalid("it has no function cusolverGetProperty");
  int major = 0, minor = 0, patch = 0;
  if (functions.cusolverGetProperty(MAJOR_VERSION, &major) != CUSOLVER_STATUS_SUCCESS ||
      functions.cusolverGetProperty(MINOR_VERSION, &minor) != CUSOLVER_STATUS_SUCCESS ||
      functions.cusolverGetProperty(PATCH_LEVEL, &patch) != CUSOLVER_STATUS_SUCCESS) {
    return Outcome::Invalid("it does not tell its version");
  }
  if (major != CUSOLVER_VER_MAJOR) {
    std::snprintf(text, sizeof text, "it is version %d.%d.%d, and this plug-in needs a version %d", major, minor, patch,
                  CUSOLVER_VER_MAJOR);
    return Outcome::Invalid(text);
  }
  taker.Take("cusolverDnCreate", functions.cusolverDnCreate);
  taker.Take("cusolverDnDestroy", functions.cusolverDnDestroy);
  taker.Take("cusolverDnSetStream", functions.cusolverDnSetStream);
  TakeFloat(taker, functions.in_float);
  TakeDouble(taker, functions.in_double);
  functions.cusolverDnSetDeterministicMode = reinterpret_cast<decltype(functions.cusolverDnSetDeterministicMode)>(
      dlsym(opened, "cusolverDnSetDeterministicMode"));
  if (taker.missing() == nullptr) return Outcome::Ok();
  std::snprintf(text, sizeof text, "version %d.%d.%d is too old: it has no function %s", major, minor, patch,
                taker.missing());
  return Outcome::Invalid(text);
}

const CudaLibrary kCusolver = {
    "libcusolver.so." HOTPLATE_TEXT(CUSOLVER_VER_MAJOR),
    [](void* opened, LaneLibraries& libraries) { return Cusolver::Load(opened, libraries.solver); },
    [](const LaneLibraries& libraries) {
      if (libraries.solver.cusolverDnSetDeterministicMode != nullptr) return Outcome::Ok();
      return Outcome::Invalid(
          "the cuSOLVER that was found cannot promise the same bits every time; that of CUDA 12.2 or later can. Leave "
          "--deterministic out to run it here");
    },
};

}  // namespace hotplate
