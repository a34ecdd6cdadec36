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
  static Device& device = *OpenCpuDevice({.lanes = 1}).release();
  return Use(device);
}

Backend OpenCuda() {
  static DeviceSet& found =
      *new DeviceSet(OpenCudaDevices({.lanes = 1, .plugin_folder = HOTPLATE_BIN_DIR}, BuiltinCatalog()));
  if (!found.devices.empty()) return Use(*found.devices.front());
  Backend backend;
  backend.why_not = "no CUDA device";
  for (const std::string& note : found.notes) backend.why_not += "; " + note;
  return backend;
}

}  // namespace

Backend& BackendNamed(const std::string& name) {
  static std::map<std::string, Backend>& opened = *new std::map<std::string, Backend>;
  if (const auto found = opened.find(name); found != opened.end()) return found->second;
  return opened.emplace(name, name == "cpu" ? OpenCpu() : OpenCuda()).first->second;
}

bool MayBeMissing(const std::string& backend) {
  const char* required = std::getenv("HOTPLATE_REQUIRE_CUDA");
  return backend != "cpu" && (required == nullptr || std::string(required) != "1");
}

}  // namespace hotplate::conformance
