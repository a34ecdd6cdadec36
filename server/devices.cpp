#include "server/devices.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "kernels/cpu/machine.h"
#include "kernels/status.h"

namespace hotplate::server {
namespace {

// Host memory pinned for one device: four staging buffers of 4 MiB to a lane; two, which a lane must have, where the
// host is small.
std::uint64_t PinnedBytes(int lanes, std::uint64_t host_bytes) {
  constexpr std::uint64_t kBuffer = std::uint64_t{4} << 20;
  const std::uint64_t wanted = static_cast<std::uint64_t>(std::max(lanes, 1)) * 4 * kBuffer;
  return wanted <= host_bytes / 16 ? wanted : wanted / 2;
}

// One thread does not keep a bus busy; more than four copy no faster. Most of the processors are the jobs'.
int CopyThreads() { return std::clamp(cpu::UsableThreads() / 4, 0, 3); }

// The threads for the CPU's lanes; `note` is set where they are fewer than asked for.
int CpuThreads(const Config& config, std::optional<std::string>& note) {
  const int usable = cpu::UsableThreads();
  if (config.threads <= usable) return config.threads;
  const std::optional<double> quota = cpu::ProcessorQuota();
  const std::size_t processors = cpu::AllowedProcessors().size();
  std::ostringstream why;
  why << "the affinity mask has " << processors << (processors == 1 ? " processor" : " processors");
  if (quota) why << ", the cgroup's quota is of " << *quota;
  note = "threads: " + std::to_string(config.threads) + " are asked for, " + std::to_string(usable) +
         " given: " + why.str();
  return usable;
}

std::string Reasons(const DeviceSet& set) {
  std::string reasons;
  for (const std::string& note : set.notes) reasons += (reasons.empty() ? ": " : "; ") + note;
  return reasons;
}

}  // namespace

absl::StatusOr<DeviceSet> ChooseDevices(const Config& config, const Catalog& catalog,
                                        std::function<void(const std::string&)> log, std::uint64_t& host_bytes) {
  DeviceSet chosen;
  CpuOptions cpu_options;
  cpu_options.lanes = config.lanes;
  std::optional<std::string> fewer_threads;
  cpu_options.threads = CpuThreads(config, fewer_threads);
  std::unique_ptr<Device> cpu = OpenCpuDevice(cpu_options);
  host_bytes = cpu->info().memory_bytes;

  if (config.device != DeviceChoice::kCpu) {
    CudaOptions options;
    options.lanes = config.lanes;
    options.indices = config.gpus;
    options.copy_threads = CopyThreads();
    options.pinned_bytes = PinnedBytes(config.lanes, host_bytes);
    options.log = std::move(log);
    chosen = OpenCudaDevices(options, catalog);
    host_bytes -= std::min(host_bytes, chosen.devices.size() * options.pinned_bytes);  // what is pinned is not theirs
  }
  if (chosen.devices.empty() && (config.require_cuda || config.device == DeviceChoice::kCuda)) {
    return absl::FailedPreconditionError(ToAbsl("no usable CUDA device" + Reasons(chosen) +
                                                "; use --device cpu, or auto without --require-cuda, to do without"));
  }
  for (const int index : config.gpus) {
    const std::string id = "gpu" + std::to_string(index);
    const auto is_it = [&id](const std::unique_ptr<Device>& device) { return device->info().id == id; };
    if (std::any_of(chosen.devices.begin(), chosen.devices.end(), is_it)) continue;
    return absl::FailedPreconditionError(ToAbsl("device " + id + " is asked for and cannot be used" + Reasons(chosen)));
  }
  if (config.device != DeviceChoice::kCuda) {
    chosen.devices.push_back(std::move(cpu));
    if (fewer_threads) chosen.notes.push_back(*fewer_threads);
  }
  return chosen;
}

}  // namespace hotplate::server
