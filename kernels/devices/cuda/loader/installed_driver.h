// The NVIDIA driver of this machine, opened and initialised once.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "kernels/devices/cuda/executor/driver.h"

namespace hotplate {

struct InstalledDriver {
  void* library = nullptr;  // never closed: from here on a plug-in's CUDA runtime may use it
  Driver driver;
  int version = 0;  // the newest CUDA that it runs: 12040
  int devices = 0;  // that this process may use

  // Opens the library and initialises the driver. FAILED_PRECONDITION and one sentence if it is missing or does not
  // work. Zero devices are not an error.
  static absl::StatusOr<InstalledDriver> Open(const std::string& library);
};

// "12.4"
std::string CudaVersionText(int version);

}  // namespace hotplate
