// Finds the CUDA devices, or says why there are none:
//   1. The driver's libcuda.so.1 is opened. Without it nothing else is: a plug-in brings hundreds of megabytes along.
//   2. The plug-ins in the folder are tried, the newest CUDA first. One that cannot be opened, speaks another version
//   of
//      the table, or finds no device leaves a note, and the next is tried.
//   3. The first plug-in with a device that works is the one; the devices that do not work leave notes.
//   4. NVML, where it is there, tells what CUDA does not: metrics, how a device is shared, and what is wrong with
//      CUDA_VISIBLE_DEVICES.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/nvml.h"
#include "kernels/cuda/nvml_visible.h"
#include "kernels/cuda/plugin_device.h"
#include "kernels/cuda/plugin_library.h"
#include "kernels/device.h"

namespace hotplate {
namespace {

namespace fs = std::filesystem;

// More devices than a node has: a count beyond it is not believed.
constexpr int kMostDevices = 1024;

std::string CudaVersion(int version) { return absl::StrCat(version / 1000, ".", version % 1000 / 10); }

std::string DriverLibrary(const CudaOptions& options) {
  if (!options.driver_library.empty()) return options.driver_library;
  const char* const named = std::getenv("HOTPLATE_CUDA_DRIVER_LIBRARY");
  return named != nullptr && *named != '\0' ? named : "libcuda.so.1";
}

std::string PluginFolder(const CudaOptions& options) {
  if (!options.plugin_folder.empty()) return options.plugin_folder;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : program.parent_path().string();
}

// The major of "libhotplate_cuda<major>.so", or nothing.
std::optional<int> MajorOf(const std::string& name) {
  const std::string prefix = "libhotplate_cuda", suffix = ".so";
  if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix)) return {};
  const std::string digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  if (digits.size() > 4 || !std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return {};
  }
  return std::stoi(digits);
}

// Paths of the plug-ins, the newest CUDA first.
std::vector<std::string> PluginsIn(const std::string& folder) {
  std::vector<std::pair<int, std::string>> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (const std::optional<int> major = MajorOf(entry->path().filename().string())) {
      found.emplace_back(*major, entry->path().string());
    }
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> paths;
  for (auto& [major, path] : found) paths.push_back(std::move(path));
  return paths;
}

// True if it gave at least one device.
bool OpenDevicesOf(const std::string& path, const CudaOptions& options, const Catalog& catalog, Nvml* nvml,
                   DeviceSet& set) {
  const auto opened = PluginLibrary::Open(path, catalog, options.log);
  if (!opened.ok()) {
    set.notes.emplace_back(opened.status().message());
    return false;
  }
  const std::shared_ptr<PluginLibrary>& library = *opened;
  library->Pin();
  hotplate_outcome why{};
  const int count = library->table().device_count(&why);
  why.message[sizeof why.message - 1] = '\0';
  if (why.code != HOTPLATE_OK || count <= 0 || count > kMostDevices) {
    const int driver = library->table().driver_version(), built = library->table().cuda_runtime_version;
    std::string reason = why.code != HOTPLATE_OK ? why.message : absl::StrCat("it counts ", count, " devices");
    if (driver > 0 && driver / 1000 < built / 1000) {
      absl::StrAppend(&reason, "; the driver supports CUDA ", CudaVersion(driver), ", this plug-in needs ",
                      built / 1000, ".0 or later");
    }
    set.notes.push_back(absl::StrCat(library->file_name(), " is not used: ", reason));
    return false;
  }
  std::vector<std::unique_ptr<Device>> devices;
  for (int index = 0; index < count; ++index) {
    auto device = OpenPluginDevice(library, index, options.lanes, nvml);
    if (device.ok()) {
      devices.push_back(*std::move(device));
    } else {
      set.notes.emplace_back(absl::StrCat(std::string(device.status().message()), " (", library->file_name(), ")"));
    }
  }
  if (devices.empty()) return false;
  set.notes.insert(set.notes.end(), library->notes().begin(), library->notes().end());
  set.devices = std::move(devices);
  return true;
}

}  // namespace

DeviceSet OpenCudaDevices(const CudaOptions& options, const Catalog& catalog) {
  DeviceSet set;
  const std::string driver = DriverLibrary(options);
  // Never closed: from here on the plug-in's CUDA runtime may use it, until the process ends.
  if (dlopen(driver.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const char* const why = dlerror();
    set.notes.push_back(absl::StrCat("no CUDA devices: the NVIDIA driver's ", driver,
                                     " cannot be opened: ", why != nullptr ? why : "no reason given"));
    return set;
  }
  const std::string folder = PluginFolder(options);
  const std::vector<std::string> plugins = PluginsIn(folder);
  if (plugins.empty()) {
    set.notes.push_back(absl::StrCat("no CUDA devices: there is no plug-in (libhotplate_cuda<major>.so) in ", folder));
    return set;
  }
  const absl::StatusOr<std::shared_ptr<Nvml>> nvml = Nvml::Open();
  Nvml* const found = nvml.ok() ? nvml->get() : nullptr;
  for (const std::string& plugin : plugins) {
    if (OpenDevicesOf(plugin, options, catalog, found, set)) break;
  }
  if (!nvml.ok() && !set.devices.empty()) set.notes.emplace_back(nvml.status().message());
  if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    const auto wrong =
        WhatIsWrongWithVisibleDevices(visible, found != nullptr ? std::optional(found->Gpus()) : std::nullopt);
    if (wrong) set.notes.push_back(*wrong);
  }
  return set;
}

}  // namespace hotplate
