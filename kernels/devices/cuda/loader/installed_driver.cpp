#include "kernels/devices/cuda/loader/installed_driver.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hotplate {
namespace {

// More devices than a node has: a count beyond it is not believed.
constexpr int kMostDevices = 1024;

std::string Words(const Outcome& outcome) { return std::string(outcome.message()); }

// The remedy for an error of cuInit.
std::string Advice(int error) {
  switch (error) {
    case kDriverStubLibrary:
      return "; this is a toolkit's stub, not the driver: take its folder (…/stubs) out of LD_LIBRARY_PATH";
    case kDriverSystemNotReady:
      return "; the node is not ready (on NVSwitch systems nvidia-fabricmanager must run): tell its administrator";
    case kDriverSystemMismatch:
      return "; the driver's library and its kernel module are of different versions: tell the node's administrator";
    case kDriverCompatNotSupported:
      return "; the compatibility package in LD_LIBRARY_PATH does not support this device: take it out";
    case kDriverUnknown:
      return "; often the kernel module is not loaded or /dev/nvidia* is not accessible here: try nvidia-smi";
    default:
      return "";
  }
}

}  // namespace

std::string CudaVersionText(int version) { return absl::StrCat(version / 1000, ".", version % 1000 / 10); }

absl::StatusOr<InstalledDriver> InstalledDriver::Open(const std::string& library) {
  const auto none = [](const std::string& why) {
    return absl::FailedPreconditionError(absl::StrCat("no CUDA devices: ", why));
  };
  InstalledDriver found;
  found.library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (found.library == nullptr) {
    const char* const why = dlerror();
    return none(
        absl::StrCat("the NVIDIA driver's ", library, " cannot be opened: ", why != nullptr ? why : "no reason given"));
  }
  if (const Outcome loaded = Driver::Load(found.library, found.driver); !loaded.ok()) {
    return none(absl::StrCat(library, ": ", Words(loaded), "; Hotplate needs a driver for CUDA 12.0 or later"));
  }
  const Driver& driver = found.driver;
  // The version can be read before cuInit, which an old driver may refuse.
  if (driver.cuDriverGetVersion(&found.version) != kDriverOk) found.version = 0;
  int counted = 0;
  int result = driver.cuInit(0);
  if (result == kDriverOk) result = driver.cuDeviceGetCount(&counted);
  if (result != kDriverOk && result != kDriverNoDevice) {
    return none(absl::StrCat(Words(driver.Check(result, "starting the driver")), " (driver for CUDA ",
                             CudaVersionText(found.version), ")", Advice(result)));
  }
  if (counted > kMostDevices) return none(absl::StrCat("the driver counts ", counted, ", which is not believed"));
  found.devices = result == kDriverOk && counted > 0 ? counted : 0;
  return found;
}

}  // namespace hotplate
