#include "tests/conformance/backends.h"

#include <cstdlib>
#include <map>

namespace hotplate::conformance {
namespace {

Backend Use(Device& device) {
  Backend backend;
  absl::StatusOr<std::unique_ptr<Lane>> lane = device.OpenLane();
  if (!lane.ok()) {
    backend.why_not = lane.status().ToString();
    return backend;
  }
  backend.device = &device;
  backend.lane = *std::move(lane);
  return backend;
}

Backend OpenCpu() {
  static Device& device = *OpenCpuDevice({.lanes = 1, .threads = 3}).release();
  return Use(device);
}

// The first one, or the one whose number HOTPLATE_TEST_GPU has: others may be somebody else's, and get no context.
int AskedGpu() {
  const char* const asked = std::getenv("HOTPLATE_TEST_GPU");
  return asked != nullptr ? std::atoi(asked) : 0;
}

Backend OpenCuda() {
  CudaOptions options;
  options.lanes = 1;
  options.indices = {AskedGpu()};
  static DeviceSet& found = *new DeviceSet(OpenCudaDevices(options, BuiltinCatalog()));
  if (!found.devices.empty()) return Use(*found.devices.front());
  Backend backend;
  for (const std::string& note : found.notes) backend.why_not += backend.why_not.empty() ? note : "; " + note;
  if (backend.why_not.empty()) backend.why_not = "no CUDA device, and no note that says why";
  return backend;
}

}  // namespace

Backend& BackendNamed(const std::string& name) {
  static std::map<std::string, Backend>& opened = *new std::map<std::string, Backend>;
  if (const auto found = opened.find(name); found != opened.end()) return found->second;
  return opened.emplace(name, name == "cpu" ? OpenCpu() : OpenCuda()).first->second;
}

std::vector<std::string> BackendsOf(const std::string& kernel) {
  std::vector<std::string> names = BackendNames();
  if ((*BuiltinCatalog().Find(kernel))->cpu_only()) names = {"cpu"};
  return names;
}

bool MayBeMissing(const std::string& backend) {
  const char* required = std::getenv("HOTPLATE_REQUIRE_CUDA");
  return backend != "cpu" && (required == nullptr || std::string(required) != "1");
}

}  // namespace hotplate::conformance
