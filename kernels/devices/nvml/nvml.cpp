#include "kernels/devices/nvml/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/devices/nvml/nvml_device.h"

namespace hotplate {
namespace {

// More than a node has: counts beyond it are not believed.
constexpr unsigned kMostGpus = 1024, kMostInstances = 64;

// The first of these names that the library has.
template <typename Function>
const char* Resolve(void* library, Function*& function, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function != nullptr) return name;
  }
  return "";
}

nvml::Api ResolveAll(void* library) {
  nvml::Api api{};
  const auto resolve = [&](auto& function, std::initializer_list<const char*> names) {
    return std::string(Resolve(library, function, names));
  };
  resolve(api.init, {"nvmlInit_v2", "nvmlInit"});
  resolve(api.error_string, {"nvmlErrorString"});
  resolve(api.driver_version, {"nvmlSystemGetDriverVersion"});
  resolve(api.count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  resolve(api.by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  resolve(api.by_uuid, {"nvmlDeviceGetHandleByUUID"});
  resolve(api.by_bus_id, {"nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"});
  resolve(api.uuid, {"nvmlDeviceGetUUID"});
  resolve(api.minor, {"nvmlDeviceGetMinorNumber"});
  resolve(api.compute_mode, {"nvmlDeviceGetComputeMode"});
  resolve(api.mig_mode, {"nvmlDeviceGetMigMode"});
  resolve(api.is_mig, {"nvmlDeviceIsMigDeviceHandle"});
  resolve(api.parent_of_mig, {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle"});
  resolve(api.most_migs, {"nvmlDeviceGetMaxMigDeviceCount"});
  resolve(api.mig_by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  resolve(api.utilisation, {"nvmlDeviceGetUtilizationRates"});
  resolve(api.memory, {"nvmlDeviceGetMemoryInfo"});
  resolve(api.power, {"nvmlDeviceGetPowerUsage"});
  resolve(api.power_limit, {"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit"});
  resolve(api.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  resolve(api.temperature, {"nvmlDeviceGetTemperature"});
  resolve(api.clock, {"nvmlDeviceGetClockInfo"});
  resolve(api.clock_reasons, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  resolve(api.violation, {"nvmlDeviceGetViolationStatus"});
  resolve(api.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  resolve(api.pcie, {"nvmlDeviceGetPcieThroughput"});
  resolve(api.make_events, {"nvmlEventSetCreate"});
  resolve(api.free_events, {"nvmlEventSetFree"});
  resolve(api.register_events, {"nvmlDeviceRegisterEvents"});
  // The older one fills a shorter struct.
  resolve(api.wait_event, {"nvmlEventSetWait_v2", "nvmlEventSetWait"});
  // Not _v3 first: with some drivers of R535 its entries are longer, and nothing tells which.
  const std::string processes =
      resolve(api.processes, {"nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3",
                              "nvmlDeviceGetComputeRunningProcesses"});
  resolve(api.mps_processes, {"nvmlDeviceGetMPSComputeRunningProcesses_v2",
                              "nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses"});
  api.process_bytes = processes.ends_with("_v2") || processes.ends_with("_v3") ? sizeof(nvml::Process)
                                                                               : sizeof(nvml::ProcessOfOldDrivers);
  return api;
}

class OpenNvml final : public Nvml {
 public:
  explicit OpenNvml(const nvml::Api& api) : api_(api), watcher_(std::make_shared<PcieWatcher>(api)) {
    char text[nvml::kVersionBytes] = {};
    if (api.driver_version != nullptr && api.driver_version(text, sizeof text - 1) == nvml::kSuccess) {
      driver_version_ = text;
    }
  }

  const std::string& driver_version() const override { return driver_version_; }

  std::vector<NvmlGpu> Gpus() const override {
    std::vector<NvmlGpu> gpus;
    for (unsigned i = 0; i < Count(); ++i) {
      nvml::Handle gpu = nullptr;
      // A GPU that this process may not use (its cgroup) is counted and gives no handle.
      if (api_.by_index(i, &gpu) != nvml::kSuccess) continue;
      if (std::string uuid = UuidOf(gpu); !uuid.empty())
        gpus.push_back({std::move(uuid), InstancesOf(gpu), IsMig(gpu), MinorOf(gpu)});
    }
    return gpus;
  }

  bool HidesGpus() const override { return Gpus().size() < Count(); }

  std::unique_ptr<NvmlDevice> Find(const std::string& uuid, const std::string& pci_bus_id, bool mig) override {
    nvml::Handle handle = nullptr, gpu = nullptr;
    if (api_.by_uuid != nullptr && !uuid.empty() && api_.by_uuid(uuid.c_str(), &handle) == nvml::kSuccess) {
      unsigned is_mig = 0;
      if (api_.is_mig != nullptr && api_.is_mig(handle, &is_mig) == nvml::kSuccess && is_mig != 0) {
        if (api_.parent_of_mig == nullptr || api_.parent_of_mig(handle, &gpu) != nvml::kSuccess) gpu = nullptr;
        return OpenNvmlDevice(api_, {.gpu = gpu, .own = handle, .mig = true}, watcher_);
      }
      gpu = handle;
    } else if (api_.by_bus_id == nullptr || pci_bus_id.empty() ||
               api_.by_bus_id(pci_bus_id.c_str(), &gpu) != nvml::kSuccess) {
      return nullptr;
    }
    return OpenNvmlDevice(api_, {.gpu = gpu, .own = mig ? nullptr : gpu, .mig = mig}, watcher_);
  }

 private:
  unsigned Count() const {
    unsigned count = 0;
    if (api_.count == nullptr || api_.by_index == nullptr || api_.count(&count) != nvml::kSuccess) return 0;
    return std::min<unsigned>(count, kMostGpus);
  }

  std::string UuidOf(nvml::Handle handle) const {
    char text[nvml::kUuidBytes] = {};
    if (api_.uuid == nullptr || api_.uuid(handle, text, sizeof text - 1) != nvml::kSuccess) return "";
    return text;
  }

  int MinorOf(nvml::Handle gpu) const {
    unsigned minor = 0;
    const bool told = api_.minor != nullptr && api_.minor(gpu, &minor) == nvml::kSuccess && minor < kMostGpus;
    return told ? static_cast<int>(minor) : -1;
  }

  bool IsMig(nvml::Handle gpu) const {
    unsigned current = 0, pending = 0;
    return api_.mig_mode != nullptr && api_.mig_mode(gpu, &current, &pending) == nvml::kSuccess && current != 0;
  }

  std::vector<std::string> InstancesOf(nvml::Handle gpu) const {
    std::vector<std::string> uuids;
    unsigned count = 0;
    if (api_.most_migs == nullptr || api_.mig_by_index == nullptr || api_.most_migs(gpu, &count) != nvml::kSuccess) {
      return uuids;
    }
    for (unsigned i = 0; i < count && i < kMostInstances; ++i) {
      nvml::Handle instance = nullptr;
      if (api_.mig_by_index(gpu, i, &instance) != nvml::kSuccess) continue;
      if (std::string uuid = UuidOf(instance); !uuid.empty()) uuids.push_back(std::move(uuid));
    }
    return uuids;
  }

  const nvml::Api api_;
  const std::shared_ptr<PcieWatcher> watcher_;
  std::string driver_version_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Nvml>> Nvml::Open() {
  const char* const named = std::getenv("HOTPLATE_NVML_LIBRARY");
  const std::string name = named != nullptr && *named != '\0' ? named : "libnvidia-ml.so.1";
  const auto refuse = [&name](const std::string& why) {
    return absl::FailedPreconditionError(
        absl::StrCat("no power, clocks, errors and processes of GPUs: ", name, " ", why));
  };
  // Never closed, like the driver itself.
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return refuse(absl::StrCat("cannot be opened: ", why != nullptr ? why : "no reason given"));
  }
  const nvml::Api api = ResolveAll(library);
  if (api.init == nullptr || (api.by_uuid == nullptr && api.by_bus_id == nullptr)) {
    return refuse("lacks the functions to initialise it and to find a device");
  }
  if (const int result = api.init(); result != nvml::kSuccess) {
    const char* const why = api.error_string != nullptr ? api.error_string(result) : nullptr;
    return refuse(absl::StrCat("cannot be initialised: ", why != nullptr ? why : "no reason given", " (NVML error ",
                               result, ")"));
  }
  return std::make_shared<OpenNvml>(api);
}

}  // namespace hotplate
