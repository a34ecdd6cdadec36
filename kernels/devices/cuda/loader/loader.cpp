// Finds the CUDA devices, or says why there are none:
//   1. The driver's libcuda.so.1 is opened, initialised and asked for its devices. Without one nothing else is opened.
//   2. The plug-ins in the folder are tried, the newest CUDA first. A plug-in that needs a newer driver, cannot be
//      opened, or has another version of the table leaves a note, and the next is tried.
//   3. The first plug-in with a working device is used. Plug-ins whose kernels lack a library of CUDA come last, the
//      fewest lacking first: a site that has loaded CUDA 12 gets the plug-in for CUDA 12, even if its driver could do
//      more. Devices that do not work and libraries that are missing leave notes.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/devices/cuda/loader/installed_driver.h"
#include "kernels/devices/cuda/loader/library_search.h"
#include "kernels/devices/cuda/loader/plugin_device.h"
#include "kernels/devices/cuda/loader/plugin_library.h"
#include "kernels/devices/device.h"
#include "kernels/devices/nvml/nvml.h"
#include "kernels/devices/nvml/nvml_visible.h"

namespace hotplate {
namespace {

namespace fs = std::filesystem;

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string DriverLibrary(const CudaOptions& options) {
  if (!options.driver_library.empty()) return options.driver_library;
  const std::string named = Variable("HOTPLATE_CUDA_DRIVER_LIBRARY");
  return named.empty() ? "libcuda.so.1" : named;
}

// Empty where it cannot be found out.
std::string PluginFolder(const CudaOptions& options) {
  if (!options.plugin_folder.empty()) return options.plugin_folder;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? "" : program.parent_path().string();
}

struct PluginFile {
  int cuda_major = 0;
  std::string path;
  std::string name;

  auto operator<=>(const PluginFile&) const = default;
};

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

// The newest CUDA first.
std::vector<PluginFile> PluginsIn(const std::string& folder) {
  std::vector<PluginFile> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (const std::optional<int> major = MajorOf(name)) found.push_back({*major, entry->path().string(), name});
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

// "gpu0", or "gpu0 to gpu3".
std::string Present(int devices) { return devices == 1 ? "gpu0 alone" : absl::StrCat("gpu0 to gpu", devices - 1); }

// The devices that are asked for and there; a note for each that is not there.
std::vector<int> Wanted(const CudaOptions& options, int devices, std::vector<std::string>& notes) {
  std::vector<int> wanted;
  for (int index = 0; options.indices.empty() && index < devices; ++index) wanted.push_back(index);
  for (const int index : options.indices) {
    if (index >= 0 && index < devices) {
      wanted.push_back(index);
    } else {
      notes.push_back(absl::StrCat("there is no gpu", index, ": the driver gives ", Present(devices)));
    }
  }
  return wanted;
}

// The node's GPUs, according to the environment and NVML. Asked once.
struct Node {
  GivenGpus given;
  std::optional<std::vector<NvmlGpu>> gpus;  // nothing without an NVML
};

Node AskNode(const Nvml* nvml, const CudaOptions& options) {
  Node node;
  if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) node.given.visible = visible;
  node.given.bus_order = Variable("CUDA_DEVICE_ORDER") == "PCI_BUS_ID";
  if (nvml != nullptr) node.gpus = nvml->Gpus();
  // Slurm's numbers are the node's. A process that sees only a part of the node cannot use them as an index.
  if (nvml != nullptr && !nvml->HidesGpus()) node.given.slurm = options.given;
  return node;
}

// Notes the devices that CUDA_VISIBLE_DEVICES hides, and a lack of devices.
void NoteHiddenDevices(const Node& node, const InstalledDriver& installed, std::vector<std::string>& notes) {
  std::optional<std::string> wrong;
  if (node.given.visible) wrong = WhatIsWrongWithVisibleDevices(*node.given.visible, node.gpus);
  if (installed.devices == 0) {
    notes.push_back(absl::StrCat("no CUDA devices: the driver (for CUDA ", CudaVersionText(installed.version),
                                 ") has none for this process", wrong ? "; " + *wrong : ""));
  } else if (wrong) {
    notes.push_back(*std::move(wrong));
  }
}

// Closes devices that Slurm did not give, whose memory and time belong to others, unless they were chosen by number.
// Also notes the devices hidden by MIG, unless the user chose devices.
void KeepGivenDevices(const Node& node, const CudaOptions& options, const std::vector<OpenGpu>& open, DeviceSet& set) {
  if (!node.gpus) return;
  for (const WrongGpu& wrong : WhatIsOpenInstead(node.given, *node.gpus, open)) {
    const bool left_out = wrong.not_slurms && options.indices.empty();
    set.notes.push_back(absl::StrCat(wrong.why, left_out ? ". It is left out" : ". It is used"));
    if (!left_out) continue;
    std::erase_if(set.devices, [id = absl::StrCat("gpu", wrong.index)](const std::unique_ptr<Device>& device) {
      return device->info().id == id;
    });
  }
  if (!options.indices.empty() && !open.empty()) return;
  std::vector<std::string> shown;
  for (const OpenGpu& one : open) shown.push_back(one.uuid);
  const std::vector<std::string> hidden = WhatMigHides(node.given.visible, *node.gpus, shown);
  set.notes.insert(set.notes.end(), hidden.begin(), hidden.end());
}

class Loader {
 public:
  Loader(const CudaOptions& options, const Catalog& catalog, const InstalledDriver& installed, Nvml* nvml,
         DeviceSet& set)
      : options_(options), catalog_(catalog), installed_(installed), nvml_(nvml), set_(set) {}

  const std::vector<OpenGpu>& open() const { return open_; }

  // Takes the devices of the first plug-in that has any, in the order described at the top of this file.
  void TakeDevices(const std::vector<PluginFile>& plugins, const std::string& folder, const std::vector<int>& wanted) {
    std::vector<std::shared_ptr<PluginLibrary>> incomplete;
    for (const PluginFile& plugin : plugins) {
      std::shared_ptr<PluginLibrary> library = OpenPlugin(plugin);
      if (library == nullptr) continue;
      if (!library->libraries().missing().empty()) {
        incomplete.push_back(std::move(library));
        continue;
      }
      if (!TakeDevicesOf(library, folder, wanted)) continue;
      for (const std::shared_ptr<PluginLibrary>& newer : incomplete) {
        set_.notes.push_back(absl::StrCat(newer->file_name(),
                                          " is not used: CUDA's libraries that its kernels call are not ",
                                          "all to be found, and those of ", library->file_name(), " are"));
      }
      incomplete.clear();
      break;
    }
    std::stable_sort(incomplete.begin(), incomplete.end(), [](const auto& a, const auto& b) {
      return a->libraries().missing().size() < b->libraries().missing().size();
    });
    for (const std::shared_ptr<PluginLibrary>& library : incomplete) {
      if (TakeDevicesOf(library, folder, wanted)) break;
    }
  }

 private:
  // Null, and a note, if it cannot be used with this driver.
  std::shared_ptr<PluginLibrary> OpenPlugin(const PluginFile& file) {
    if (installed_.version > 0 && installed_.version / 1000 < file.cuda_major) {
      set_.notes.push_back(absl::StrCat(file.name, " is not used: the driver supports CUDA ",
                                        CudaVersionText(installed_.version), ", and this plug-in needs ",
                                        file.cuda_major, ".0 or later"));
      return nullptr;
    }
    const CompilerOptions compiler{.program = CompilerBeside(fs::path(file.path).parent_path().string()),
                                   .folder = options_.cubins};
    auto opened = PluginLibrary::Open(file.path, catalog_, LibrarySearch(Variable, ""), options_.log, compiler);
    if (opened.ok()) return *std::move(opened);
    set_.notes.emplace_back(opened.status().message());
    return nullptr;
  }

  // True if the plug-in gave at least one device.
  bool TakeDevicesOf(const std::shared_ptr<PluginLibrary>& library, const std::string& folder,
                     const std::vector<int>& wanted) {
    library->Pin();
    std::vector<std::unique_ptr<Device>> devices;
    for (const int index : wanted) {
      auto device = OpenPluginDevice(library, installed_.library, index, options_, nvml_);
      if (device.ok()) {
        open_.push_back({index, (*device)->info().uuid});
        devices.push_back(*std::move(device));
      } else {
        set_.notes.emplace_back(absl::StrCat(std::string(device.status().message()), " (", library->file_name(), ")"));
      }
    }
    if (devices.empty()) return false;
    set_.sources.push_back(absl::StrCat("CUDA: ", folder, "/", library->file_name(), " with a driver for CUDA ",
                                        CudaVersionText(installed_.version)));
    for (const std::string& found : library->libraries().found()) set_.sources.push_back("CUDA: " + found);
    set_.notes.insert(set_.notes.end(), library->notes().begin(), library->notes().end());
    set_.devices = std::move(devices);
    return true;
  }

  const CudaOptions& options_;
  const Catalog& catalog_;
  const InstalledDriver& installed_;
  Nvml* const nvml_;  // may be null
  DeviceSet& set_;
  std::vector<OpenGpu> open_;
};

}  // namespace

DeviceSet OpenCudaDevices(const CudaOptions& options, const Catalog& catalog) {
  DeviceSet set;
  const auto installed = InstalledDriver::Open(DriverLibrary(options));
  if (!installed.ok()) {
    set.notes.emplace_back(installed.status().message());
    return set;
  }
  // After the driver: without it there is nothing to manage.
  const auto nvml = Nvml::Open();
  if (!nvml.ok() && installed->devices > 0) set.notes.emplace_back(nvml.status().message());
  Nvml* const manager = nvml.ok() ? nvml->get() : nullptr;
  const Node node = AskNode(manager, options);
  NoteHiddenDevices(node, *installed, set.notes);
  const std::vector<int> wanted =
      installed->devices > 0 ? Wanted(options, installed->devices, set.notes) : std::vector<int>();
  if (wanted.empty()) {
    KeepGivenDevices(node, options, {}, set);
    return set;
  }
  const std::string folder = PluginFolder(options);
  if (folder.empty()) {
    set.notes.push_back(
        "no CUDA devices: plug-ins lie beside hotplated, and /proc/self/exe, which tells where that is, "
        "cannot be read here; mount /proc");
    return set;
  }
  const std::vector<PluginFile> plugins = PluginsIn(folder);
  if (plugins.empty()) {
    set.notes.push_back(absl::StrCat("no CUDA devices: there is no plug-in (libhotplate_cuda<major>.so) in ", folder));
    return set;
  }
  Loader loader(options, catalog, *installed, manager, set);
  loader.TakeDevices(plugins, folder, wanted);
  KeepGivenDevices(node, options, loader.open(), set);
  return set;
}

}  // namespace hotplate
