#include "kernels/devices/nvml/nvml_device.h"

#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hotplate {
namespace {

constexpr std::chrono::seconds kPcieInterval{1};
// Entries of processes that are asked for; a GPU with more of them tells no number.
constexpr unsigned kMostProcesses = 512;
constexpr int kMostEventsAtOnce = 64;

// The calls for one sample. Each may prove unsupported.
enum Call {
  kUtilisation,
  kMemory,
  kPower,
  kPowerLimit,
  kEnergy,
  kTemperature,
  kSmClock,
  kMemoryClock,
  kReasons,
  kPowerViolation,
  kThermalViolation,
  kEcc,
  kProcesses,
  kEvents,
  kCalls
};

// The name of a process (the kernel keeps 15 characters); empty if unknown.
std::string NameOf(unsigned pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

// Whether programs that CUDA starts here become clients of an MPS server: its control daemon has its pipe in the folder
// where CUDA looks.
bool MpsPipeIsThere() {
  const char* const folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  std::error_code error;
  return folder != nullptr && *folder != '\0' &&
         std::filesystem::exists(std::filesystem::path(folder) / "control", error);
}

class FoundDevice final : public NvmlDevice {
 public:
  FoundDevice(const nvml::Api& api, const NvmlHandles& handles, std::shared_ptr<PcieWatcher> watcher)
      : api_(api), handles_(handles), watcher_(std::move(watcher)) {
    if (handles_.gpu != nullptr && api_.make_events != nullptr && api_.register_events != nullptr &&
        api_.wait_event != nullptr && api_.free_events != nullptr) {
      if (api_.make_events(&events_) != nvml::kSuccess) events_ = nullptr;
      if (events_ != nullptr && api_.register_events(handles_.gpu, nvml::kXidEvent, events_) != nvml::kSuccess) {
        api_.free_events(events_);
        events_ = nullptr;
      }
    }
    const MutexLock lock(mutex_);
    FindMode();
    // Whole GPUs only: an instance's share of the bus is not told.
    if (!handles_.mig) watcher_->Add(handles_.gpu);
  }

  ~FoundDevice() override {
    if (events_ != nullptr) api_.free_events(events_);
  }

  const std::string& mode() const override { return mode_; }

  DeviceMetrics Sample() override {
    const MutexLock lock(mutex_);
    DeviceMetrics metrics;
    metrics.of_whole_gpu = handles_.mig;
    if (lost_.empty() && handles_.own != nullptr) SampleOwn(metrics);
    if (lost_.empty() && handles_.gpu != nullptr) SampleGpu(metrics);
    if (lost_.empty() && !handles_.mig) {
      const PcieWatcher::Traffic traffic = watcher_->Newest(handles_.gpu);
      metrics.pcie_receive_bytes_per_second = traffic.receive;
      metrics.pcie_transmit_bytes_per_second = traffic.transmit;
    }
    if (!lost_.empty()) {
      metrics = DeviceMetrics();
      metrics.lost = lost_;
    }
    return metrics;
  }

 private:
  // True if the call gave a value. One that is not supported is not asked again.
  template <typename Function, typename... Arguments>
  bool Ask(Call call, Function* function, Arguments... arguments) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (function == nullptr || silent_[call] || !lost_.empty()) return false;
    return Judge(call, function(arguments...));
  }

  bool Judge(Call call, int result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (result == nvml::kNotSupported || result == nvml::kFunctionNotFound || result == nvml::kNoPermission) {
      silent_[call] = true;
    } else if (result == nvml::kGpuIsLost || result == nvml::kResetRequired) {
      const char* const text = api_.error_string != nullptr ? api_.error_string(result) : nullptr;
      lost_ = absl::StrCat("the driver says: ", text != nullptr ? text : "GPU is lost", " (NVML error ", result,
                           "); the node's administrator must look at it");
    }
    return result == nvml::kSuccess;
  }

  void SampleOwn(DeviceMetrics& metrics) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    nvml::Memory memory{};
    if (Ask(kMemory, api_.memory, handles_.own, &memory)) {
      metrics.memory_total_bytes = memory.total;
      metrics.memory_used_bytes = memory.used;
    }
    nvml::Utilisation utilisation{};
    if (Ask(kUtilisation, api_.utilisation, handles_.own, &utilisation)) {
      metrics.utilisation = std::min(utilisation.gpu, 100u) / 100.0;
    }
    if (const std::optional<std::vector<unsigned>> pids = Processes()) {
      metrics.processes = static_cast<std::uint32_t>(pids->size());
      // This process has a context there. If it is not in the list, it is known by another number (a container's, or an
      // MPS server's), and the others cannot be told apart from it.
      const auto mine = std::ranges::count(*pids, static_cast<unsigned>(getpid()));
      if (mine > 0) metrics.other_processes = static_cast<std::uint32_t>(pids->size() - static_cast<std::size_t>(mine));
    }
  }

  void SampleGpu(DeviceMetrics& metrics) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const nvml::Handle gpu = handles_.gpu;
    unsigned value = 0;
    unsigned long long wide = 0;
    if (Ask(kEnergy, api_.energy, gpu, &wide)) metrics.energy_joules = static_cast<double>(wide) * 1e-3;
    if (Ask(kPower, api_.power, gpu, &value)) metrics.power_watts = value * 1e-3;
    if (Ask(kPowerLimit, api_.power_limit, gpu, &value)) metrics.power_limit_watts = value * 1e-3;
    if (Ask(kSmClock, api_.clock, gpu, nvml::kSmClock, &value)) metrics.sm_clock_mhz = value;
    if (Ask(kMemoryClock, api_.clock, gpu, nvml::kMemoryClock, &value)) metrics.memory_clock_mhz = value;
    if (Ask(kTemperature, api_.temperature, gpu, nvml::kTemperatureOfGpu, &value)) metrics.temperature_celsius = value;
    if (Ask(kReasons, api_.clock_reasons, gpu, &wide)) {
      metrics.throttle_reasons = ThrottleWords(wide);
      metrics.clocks_at_rest = (wide & nvml::kReasonIdle) != 0;
    }
    nvml::Violation violation{};
    if (Ask(kPowerViolation, api_.violation, gpu, nvml::kPowerPolicy, &violation)) {
      metrics.power_throttled_ns = violation.violation_ns;
    }
    if (Ask(kThermalViolation, api_.violation, gpu, nvml::kThermalPolicy, &violation)) {
      metrics.thermal_throttled_ns = violation.violation_ns;
    }
    if (Ask(kEcc, api_.ecc_errors, gpu, nvml::kUncorrectedErrors, nvml::kSinceDriverLoad, &wide)) {
      metrics.ecc_errors = wide;
    }
    if (events_ != nullptr) ReadEvents(metrics);
  }

  // Reads pending events; does not wait.
  void ReadEvents(DeviceMetrics& metrics) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (int i = 0; i < kMostEventsAtOnce && !silent_[kEvents] && lost_.empty(); ++i) {
      nvml::EventData event{};
      const int result = api_.wait_event(events_, &event, 0);
      if (result == nvml::kTimeout) break;
      if (!Judge(kEvents, result)) return;
      if ((event.type & nvml::kXidEvent) == 0) continue;
      ++xid_errors_;
      last_xid_ = static_cast<std::uint32_t>(event.data);
    }
    metrics.xid_errors = xid_errors_;
    metrics.last_xid = last_xid_;
  }

  // The processes that compute on the device; nothing if unknown.
  std::optional<std::vector<unsigned>> Processes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // With room for the longer entries that some drivers write.
    process_buffer_.resize(std::size_t{kMostProcesses} * (sizeof(nvml::Process) + 8));
    unsigned count = kMostProcesses;
    if (!Ask(kProcesses, api_.processes, handles_.own, &count, static_cast<void*>(process_buffer_.data()))) return {};
    std::vector<unsigned> pids(std::min(count, kMostProcesses));
    for (std::size_t i = 0; i < pids.size(); ++i) {
      std::memcpy(&pids[i], process_buffer_.data() + i * api_.process_bytes, sizeof pids[i]);
    }
    return pids;
  }

  void FindMode() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<std::string> words;
    unsigned current = 0, pending = 0;
    if (!handles_.mig && api_.mig_mode != nullptr && handles_.gpu != nullptr &&
        api_.mig_mode(handles_.gpu, &current, &pending) == nvml::kSuccess && current != 0) {
      handles_.mig = true;  // CUDA showed the first of its instances, and no UUID that says so
      handles_.own = nullptr;
    }
    if (handles_.mig) words.emplace_back("MIG");
    unsigned mode = 0;
    if (handles_.gpu != nullptr && api_.compute_mode != nullptr &&
        api_.compute_mode(handles_.gpu, &mode) == nvml::kSuccess) {
      if (mode == nvml::kExclusiveThread) words.emplace_back("EXCLUSIVE_THREAD");
      if (mode == nvml::kProhibited) words.emplace_back("PROHIBITED");
      if (mode == nvml::kExclusiveProcess) words.emplace_back("EXCLUSIVE_PROCESS");
    }
    if (MpsIsUsed()) words.emplace_back("MPS");
    mode_ = absl::StrJoin(words, ", ");
  }

  bool MpsIsUsed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (MpsPipeIsThere()) return true;
    if (handles_.own == nullptr) return false;
    if (api_.mps_processes != nullptr) {
      std::vector<std::byte> clients(std::size_t{kMostProcesses} * (sizeof(nvml::Process) + 8));
      unsigned count = kMostProcesses;
      if (api_.mps_processes(handles_.own, &count, clients.data()) == nvml::kSuccess && count > 0) return true;
    }
    const std::optional<std::vector<unsigned>> pids = Processes();
    // "nvidia-cuda-mps-server", cut as in the kernel.
    return pids && std::ranges::any_of(*pids, [](unsigned pid) { return NameOf(pid) == "nvidia-cuda-mps"; });
  }

  const nvml::Api api_;
  NvmlHandles handles_;  // changed only while it is made
  const std::shared_ptr<PcieWatcher> watcher_;
  std::string mode_;  // written only while it is made
  nvml::EventSet events_ = nullptr;

  Mutex mutex_;
  std::bitset<kCalls> silent_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::byte> process_buffer_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t xid_errors_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<std::uint32_t> last_xid_ ABSL_GUARDED_BY(mutex_);
  std::string lost_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::vector<std::string> ThrottleWords(unsigned long long reasons) {
  static constexpr std::pair<unsigned long long, const char*> kWords[] = {
      {nvml::kReasonPowerCap, "power cap"},
      {nvml::kReasonPowerBrake, "power brake"},
      {nvml::kReasonSoftwareThermal, "thermal"},
      {nvml::kReasonHardwareThermal, "thermal (hardware)"},
      {nvml::kReasonHardwareSlowdown, "hardware slowdown"},
      {nvml::kReasonSyncBoost, "sync boost"},
  };
  std::vector<std::string> words;
  for (const auto& [bit, word] : kWords) {
    if ((reasons & bit) != 0) words.emplace_back(word);
  }
  return words;
}

PcieWatcher::~PcieWatcher() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void PcieWatcher::Add(nvml::Handle gpu) {
  if (api_.pcie == nullptr) return;
  const MutexLock lock(mutex_);
  devices_.emplace_back(gpu, Traffic{});
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

PcieWatcher::Traffic PcieWatcher::Newest(nvml::Handle gpu) const {
  const MutexLock lock(mutex_);
  for (const auto& [handle, traffic] : devices_) {
    if (handle == gpu) return traffic;
  }
  return {};
}

void PcieWatcher::Run() {
  const auto read = [this](nvml::Handle gpu, unsigned direction) -> std::optional<double> {
    unsigned kilobytes = 0;
    if (api_.pcie(gpu, direction, &kilobytes) != nvml::kSuccess) return std::nullopt;
    return kilobytes * 1e3;
  };
  MutexLock lock(mutex_);
  while (!stopping_) {
    for (std::size_t i = 0; i < devices_.size() && !stopping_; ++i) {
      const nvml::Handle gpu = devices_[i].first;
      lock.Unlock();
      Traffic traffic;
      traffic.receive = read(gpu, nvml::kPcieReceive);
      if (traffic.receive) traffic.transmit = read(gpu, nvml::kPcieTransmit);
      lock.Lock();
      devices_[i].second = traffic;
    }
    const auto next = std::chrono::steady_clock::now() + kPcieInterval;
    while (!stopping_ && wake_.WaitUntil(mutex_, next)) {
    }
  }
}

std::unique_ptr<NvmlDevice> OpenNvmlDevice(const nvml::Api& api, const NvmlHandles& handles,
                                           std::shared_ptr<PcieWatcher> watcher) {
  return std::make_unique<FoundDevice>(api, handles, std::move(watcher));
}

}  // namespace hotplate
