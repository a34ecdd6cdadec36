// A GPU's metrics from the driver's management library (NVML). NVML counts devices in its own order and ignores
// CUDA_VISIBLE_DEVICES, so a device is found by its UUID, else by its PCI bus id, never by an index. Everything is
// optional: a call that the library lacks, or that fails, makes its metric absent. No CUDA, no nvml.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/devices/device.h"

namespace hotplate {

// One device's metrics. Thread-safe.
class NvmlDevice {
 public:
  virtual ~NvmlDevice() = default;
  // A dozen calls, some of which may take a millisecond. Once the device is lost, NVML is not called any more.
  virtual DeviceMetrics Sample() = 0;
  // How the device is shared: "MIG", "EXCLUSIVE_PROCESS", "MPS", or several with ", " between; empty if it is not
  // shared.
  virtual const std::string& mode() const = 0;
};

// A GPU of the node in NVML's list, with the UUIDs of its MIG instances. With `mig`, CUDA uses only the instances.
struct NvmlGpu {
  std::string uuid;
  std::vector<std::string> instances;
  bool mig = false;
  int minor = -1;  // of /dev/nvidia<minor>; -1: not told
};

class Nvml {
 public:
  // Opens HOTPLATE_NVML_LIBRARY of the environment, else libnvidia-ml.so.1, and initialises it; one sentence if that
  // fails. Neither is undone before the process ends: other libraries in it may use them too.
  static absl::StatusOr<std::shared_ptr<Nvml>> Open();
  virtual ~Nvml() = default;

  // Empty if not told.
  virtual const std::string& driver_version() const = 0;
  virtual std::vector<NvmlGpu> Gpus() const = 0;
  // The driver counts GPUs that this process may not use (its cgroup) and that are not in Gpus().
  virtual bool HidesGpus() const = 0;
  // Null if there is no such device. `mig`: the device is a MIG instance, and the bus id leads to the whole GPU.
  virtual std::unique_ptr<NvmlDevice> Find(const std::string& uuid, const std::string& pci_bus_id, bool mig) = 0;
};

// The reasons' bits that mean that the clocks are held down, as words. Rest and clocks that somebody chose do not.
std::vector<std::string> ThrottleWords(unsigned long long reasons);

}  // namespace hotplate
