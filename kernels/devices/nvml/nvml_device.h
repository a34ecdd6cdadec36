// A device that NVML has found, and the thread for the calls that take long.
#pragma once

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "kernels/base/mutex.h"
#include "kernels/devices/nvml/nvml.h"
#include "kernels/devices/nvml/nvml_abi.h"

namespace hotplate {

// Reads the PCIe traffic of its devices once a second: NVML watches the bus for 20 ms in each such call. The thread is
// there while there are devices.
class PcieWatcher {
 public:
  struct Traffic {
    std::optional<double> receive, transmit;  // bytes per second
  };

  explicit PcieWatcher(const nvml::Api& api) : api_(api) {}
  // Waits for the call under way.
  ~PcieWatcher();
  PcieWatcher(const PcieWatcher&) = delete;
  PcieWatcher& operator=(const PcieWatcher&) = delete;

  void Add(nvml::Handle gpu);
  // Empty until it was read once.
  Traffic Newest(nvml::Handle gpu) const;

 private:
  void Run();

  const nvml::Api api_;
  mutable Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::pair<nvml::Handle, Traffic>> devices_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_ ABSL_GUARDED_BY(mutex_);  // joined by the destructor, without it
};

struct NvmlHandles {
  nvml::Handle gpu = nullptr;  // the whole GPU; null if it could not be found
  nvml::Handle own =
      nullptr;  // the device: the GPU, or its MIG instance; null if only the GPU of the instance is known
  bool mig = false;
};

std::unique_ptr<NvmlDevice> OpenNvmlDevice(const nvml::Api& api, const NvmlHandles& handles,
                                           std::shared_ptr<PcieWatcher> watcher);

}  // namespace hotplate
