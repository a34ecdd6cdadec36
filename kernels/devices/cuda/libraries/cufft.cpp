#include "kernels/devices/cuda/libraries/cufft.h"

#include <dlfcn.h>

#include <cstdio>
#include <type_traits>

#include "kernels/devices/cuda/plugin/lane_libraries.h"
#include "kernels/devices/cuda/plugin/libraries.h"

#define HOTPLATE_TEXT_OF(number) #number
#define HOTPLATE_TEXT(macro) HOTPLATE_TEXT_OF(macro)

namespace hotplate {

Outcome Cufft::Load(void* opened, Cufft& functions) {
  const char* missing = nullptr;
  const auto take = [&](const char* symbol, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, symbol));
    if (function == nullptr && missing == nullptr) missing = symbol;
  };
  char text[160];
  // First: a library of another major version may have all the names.
  take("cufftGetProperty", functions.cufftGetProperty);
  if (missing != nullptr) return Outcome::Invalid("it has no function cufftGetProperty");
  int major = 0, minor = 0, patch = 0;
  if (functions.cufftGetProperty(MAJOR_VERSION, &major) != CUFFT_SUCCESS ||
      functions.cufftGetProperty(MINOR_VERSION, &minor) != CUFFT_SUCCESS ||
      functions.cufftGetProperty(PATCH_LEVEL, &patch) != CUFFT_SUCCESS) {
    return Outcome::Invalid("it does not tell its version");
  }
  if (major != CUFFT_VER_MAJOR) {
    std::snprintf(text, sizeof text, "it is version %d.%d.%d, and this plug-in needs a version %d", major, minor, patch,
                  CUFFT_VER_MAJOR);
    return Outcome::Invalid(text);
  }
  take("cufftCreate", functions.cufftCreate);
  take("cufftDestroy", functions.cufftDestroy);
  take("cufftSetStream", functions.cufftSetStream);
  take("cufftSetAutoAllocation", functions.cufftSetAutoAllocation);
  take("cufftMakePlanMany64", functions.cufftMakePlanMany64);
  take("cufftSetWorkArea", functions.cufftSetWorkArea);
  take("cufftExecC2C", functions.cufftExecC2C);
  take("cufftExecZ2Z", functions.cufftExecZ2Z);
  take("cufftExecR2C", functions.cufftExecR2C);
  take("cufftExecD2Z", functions.cufftExecD2Z);
  take("cufftExecC2R", functions.cufftExecC2R);
  take("cufftExecZ2D", functions.cufftExecZ2D);
  if (missing == nullptr) return Outcome::Ok();
  std::snprintf(text, sizeof text, "version %d.%d.%d is too old: it has no function %s", major, minor, patch, missing);
  return Outcome::Invalid(text);
}

const CudaLibrary kCufft = {
    "libcufft.so." HOTPLATE_TEXT(CUFFT_VER_MAJOR),
    [](void* opened, LaneLibraries& libraries) { return Cufft::Load(opened, libraries.cufft); },
};

}  // namespace hotplate
