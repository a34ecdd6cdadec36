// Stands for libnvidia-ml.so.1 in tests, where there is no GPU; installed nowhere. At nvmlInit it reads the file that
// HOTPLATE_FAKE_NVML names, and then answers by it:
//   init_error 9                       what nvmlInit returns
//   driver 580.65.06
//   device GPU-… 00000000:65:00.0      a GPU; the lines below are its own, until the next one
//   hidden 3                           so many more are counted and give no handle, as under a job's cgroup
//   instance MIG-…                     a MIG instance of the GPU above; so are the lines below
//   NAME ANSWER …                      what the call for this metric answers, the first time, the second …; the last
//                                      one from then on. A number, or !ERROR, or a list of pids ("self" is this
//                                      process, "none" is nobody). Calls without a line answer "not supported".
//   lost_after 5                       this many calls are answered, all others with "GPU is lost"
//   slow 20                            each call takes this many milliseconds
// NAMEs: utilisation memory_total memory_used power power_limit energy temperature sm_clock memory_clock reasons
// power_violation thermal_violation ecc processes mps_processes compute_mode mig_mode minor xid ("-": no event)
// pcie_tx pcie_rx. Units are NVML's. With FAKE_OLD_NVML it exports what a library of long ago did.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "kernels/devices/nvml/nvml_abi.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace hotplate::nvml {

// What a handle points to.
struct OpaqueDevice {
  std::string uuid, bus_id;
  OpaqueDevice* parent = nullptr;
  std::vector<std::unique_ptr<OpaqueDevice>> instances;
  std::map<std::string, std::vector<std::string>> answers;
  std::map<std::string, std::size_t> asked;
  long lost_after = -1, calls = 0;
  int slow_ms = 0;
};

// Of one device's events.
struct OpaqueEventSet {
  OpaqueDevice* device = nullptr;
};

}  // namespace hotplate::nvml

namespace {

using namespace hotplate::nvml;

struct Script {
  std::mutex mutex;
  int init_error = 0;
  unsigned hidden = 0;
  std::string driver = "580.65.06";
  std::vector<std::unique_ptr<OpaqueDevice>> gpus;
  std::vector<std::unique_ptr<OpaqueDevice>> former;  // of scripts before: whoever has their handles may still ask
};

Script& TheScript() {
  static Script& script = *new Script;  // calls may come while the process ends
  return script;
}

int Read() {
  Script& script = TheScript();
  const std::lock_guard lock(script.mutex);
  std::move(script.gpus.begin(), script.gpus.end(), std::back_inserter(script.former));
  script.gpus.clear();
  script.init_error = 0;
  script.hidden = 0;
  const char* const path = std::getenv("HOTPLATE_FAKE_NVML");
  std::ifstream file(path != nullptr ? path : "");
  OpaqueDevice* current = nullptr;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, word;
    if (!(words >> name)) continue;
    if (name == "init_error") {
      words >> script.init_error;
    } else if (name == "hidden") {
      words >> script.hidden;
    } else if (name == "driver") {
      words >> script.driver;
    } else if (name == "device") {
      current = script.gpus.emplace_back(std::make_unique<OpaqueDevice>()).get();
      words >> current->uuid >> current->bus_id;
    } else if (name == "instance") {
      OpaqueDevice* const gpu = script.gpus.back().get();
      current = gpu->instances.emplace_back(std::make_unique<OpaqueDevice>()).get();
      current->parent = gpu;
      words >> current->uuid;
    } else if (name == "lost_after") {
      words >> current->lost_after;
    } else if (name == "slow") {
      words >> current->slow_ms;
    } else {
      while (words >> word) current->answers[name].push_back(word);
    }
  }
  return script.init_error;
}

// The answer's text, or the error.
int Answer(OpaqueDevice* device, const std::string& name, std::string& text) {
  int slow_ms = 0;
  {
    const std::lock_guard lock(TheScript().mutex);
    if (device == nullptr) return 2;
    slow_ms = device->slow_ms;
    if (device->lost_after >= 0 && device->calls++ >= device->lost_after) return kGpuIsLost;
    const auto found = device->answers.find(name);
    if (found == device->answers.end()) return kNotSupported;
    const std::vector<std::string>& answers = found->second;
    std::size_t& asked = device->asked[name];
    text = answers[asked < answers.size() ? asked : answers.size() - 1];
    ++asked;
  }
  if (slow_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(slow_ms));
  return text.starts_with('!') ? std::stoi(text.substr(1)) : kSuccess;
}

template <typename Number>
int Answer(OpaqueDevice* device, const std::string& name, Number* number) {
  std::string text;
  const int result = Answer(device, name, text);
  if (result == kSuccess) *number = static_cast<Number>(std::stoull(text, nullptr, 0));
  return result;
}

template <typename Entry>
int AnswerProcesses(OpaqueDevice* device, const std::string& name, unsigned* count, Entry* entries) {
  std::string text;
  if (const int result = Answer(device, name, text); result != kSuccess) return result;
  std::istringstream pids(text == "none" ? "" : text);
  unsigned found = 0;
  for (std::string pid; std::getline(pids, pid, ','); ++found) {
    if (found >= *count) return kInsufficientSize;
    entries[found].pid = pid == "self" ? static_cast<unsigned>(getpid()) : static_cast<unsigned>(std::stoul(pid));
    entries[found].used_bytes = 1 << 20;
  }
  *count = found;
  return kSuccess;
}

int Copy(const std::string& text, char* to, unsigned bytes) {
  if (text.size() >= bytes) return kInsufficientSize;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return kSuccess;
}

}  // namespace

EXPORT const char* nvmlErrorString(int result) {
  if (result == kGpuIsLost) return "GPU is lost";
  if (result == 9) return "Driver Not Loaded";
  return "Unknown Error";
}
EXPORT int nvmlDeviceGetUUID(Handle device, char* uuid, unsigned bytes) { return Copy(device->uuid, uuid, bytes); }
EXPORT int nvmlDeviceGetPowerUsage(Handle device, unsigned* value) { return Answer(device, "power", value); }
EXPORT int nvmlDeviceGetTemperature(Handle device, unsigned, unsigned* value) {
  return Answer(device, "temperature", value);
}
EXPORT int nvmlDeviceGetClockInfo(Handle device, unsigned which, unsigned* value) {
  return Answer(device, which == kSmClock ? "sm_clock" : "memory_clock", value);
}

#ifdef FAKE_OLD_NVML

EXPORT int nvmlInit() { return Read(); }
EXPORT int nvmlDeviceGetHandleByPciBusId(const char* bus_id, Handle* device) {
  for (const auto& gpu : TheScript().gpus) {
    *device = gpu.get();
    if (gpu->bus_id == bus_id) return kSuccess;
  }
  return kNotFound;
}
EXPORT int nvmlDeviceGetPowerManagementLimit(Handle device, unsigned* value) {
  return Answer(device, "power_limit", value);
}
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(Handle device, unsigned long long* value) {
  return Answer(device, "reasons", value);
}
EXPORT int nvmlDeviceGetComputeRunningProcesses(Handle device, unsigned* count, ProcessOfOldDrivers* entries) {
  return AnswerProcesses(device, "processes", count, entries);
}

#else

EXPORT int nvmlInit_v2() { return Read(); }
EXPORT int nvmlSystemGetDriverVersion(char* version, unsigned bytes) {
  return Copy(TheScript().driver, version, bytes);
}
EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(TheScript().gpus.size()) + TheScript().hidden;
  return kSuccess;
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* device) {
  if (index >= TheScript().gpus.size()) return 2;
  *device = TheScript().gpus[index].get();
  return kSuccess;
}
EXPORT int nvmlDeviceGetHandleByUUID(const char* uuid, Handle* device) {
  for (const auto& gpu : TheScript().gpus) {
    *device = gpu.get();
    if (gpu->uuid == uuid) return kSuccess;
    for (const auto& instance : gpu->instances) {
      *device = instance.get();
      if (instance->uuid == uuid) return kSuccess;
    }
  }
  return kNotFound;
}
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Handle* device) {
  for (const auto& gpu : TheScript().gpus) {
    *device = gpu.get();
    if (gpu->bus_id == bus_id) return kSuccess;
  }
  return kNotFound;
}
EXPORT int nvmlDeviceIsMigDeviceHandle(Handle device, unsigned* is_mig) {
  *is_mig = device->parent != nullptr ? 1 : 0;
  return kSuccess;
}
EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle instance, Handle* gpu) {
  *gpu = instance->parent;
  return instance->parent != nullptr ? kSuccess : 2;
}
EXPORT int nvmlDeviceGetMaxMigDeviceCount(Handle gpu, unsigned* count) {
  *count = gpu->instances.empty() ? 0 : 7;
  return kSuccess;
}
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(Handle gpu, unsigned index, Handle* instance) {
  if (index >= gpu->instances.size()) return kNotFound;
  *instance = gpu->instances[index].get();
  return kSuccess;
}
EXPORT int nvmlDeviceGetMinorNumber(Handle device, unsigned* minor) { return Answer(device, "minor", minor); }
EXPORT int nvmlDeviceGetComputeMode(Handle device, unsigned* mode) { return Answer(device, "compute_mode", mode); }
EXPORT int nvmlDeviceGetMigMode(Handle device, unsigned* current, unsigned* pending) {
  *pending = 0;
  return Answer(device, "mig_mode", current);
}
EXPORT int nvmlDeviceGetUtilizationRates(Handle device, Utilisation* value) {
  value->memory = 0;
  return Answer(device, "utilisation", &value->gpu);
}
EXPORT int nvmlDeviceGetMemoryInfo(Handle device, Memory* value) {
  if (const int result = Answer(device, "memory_total", &value->total); result != kSuccess) return result;
  const int result = Answer(device, "memory_used", &value->used);
  value->free = value->total - value->used;
  return result;
}
EXPORT int nvmlDeviceGetEnforcedPowerLimit(Handle device, unsigned* value) {
  return Answer(device, "power_limit", value);
}
EXPORT int nvmlDeviceGetTotalEnergyConsumption(Handle device, unsigned long long* value) {
  return Answer(device, "energy", value);
}
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(Handle device, unsigned long long* value) {
  return Answer(device, "reasons", value);
}
EXPORT int nvmlDeviceGetViolationStatus(Handle device, unsigned policy, Violation* value) {
  value->reference_us = 0;
  return Answer(device, policy == kPowerPolicy ? "power_violation" : "thermal_violation", &value->violation_ns);
}
EXPORT int nvmlDeviceGetTotalEccErrors(Handle device, unsigned kind, unsigned, unsigned long long* value) {
  return kind == kUncorrectedErrors ? Answer(device, "ecc", value) : 2;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(Handle device, unsigned* count, Process* entries) {
  return AnswerProcesses(device, "processes", count, entries);
}
EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(Handle device, unsigned* count, Process* entries) {
  return AnswerProcesses(device, "mps_processes", count, entries);
}
EXPORT int nvmlDeviceGetPcieThroughput(Handle device, unsigned direction, unsigned* value) {
  return Answer(device, direction == kPcieReceive ? "pcie_rx" : "pcie_tx", value);
}
EXPORT int nvmlEventSetCreate(EventSet* set) {
  *set = new OpaqueEventSet;
  return kSuccess;
}
EXPORT int nvmlEventSetFree(EventSet set) {
  delete set;
  return kSuccess;
}
EXPORT int nvmlDeviceRegisterEvents(Handle device, unsigned long long types, EventSet set) {
  if (!device->answers.contains("xid") || types != kXidEvent) return kNotSupported;
  set->device = device;
  return kSuccess;
}
EXPORT int nvmlEventSetWait_v2(EventSet set, EventData* data, unsigned) {
  std::string text;
  if (const int result = Answer(set->device, "xid", text); result != kSuccess) return result;
  if (text == "-") return kTimeout;
  *data = {set->device, kXidEvent, std::stoull(text), 0, 0};
  return kSuccess;
}

#endif
