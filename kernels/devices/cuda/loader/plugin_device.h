// A device behind a plug-in's table, as the core knows devices.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/devices/cuda/loader/plugin_library.h"
#include "kernels/devices/device.h"
#include "kernels/devices/nvml/nvml.h"

namespace hotplate {

// The device with this index in the driver; `driver_library` is the dlopen handle of libcuda. FAILED_PRECONDITION and
// one sentence if it cannot be used. `nvml` may be null: then only the plug-in's metrics are available.
absl::StatusOr<std::unique_ptr<Device>> OpenPluginDevice(const std::shared_ptr<PluginLibrary>& library,
                                                         void* driver_library, int index, const CudaOptions& options,
                                                         Nvml* nvml);

}  // namespace hotplate
