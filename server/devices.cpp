#include "server/devices.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "kernels/base/quantity.h"
#include "kernels/base/status.h"
#include "kernels/devices/cpu/machine.h"
#include "kernels/devices/cuda/executor/host_share.h"
#include "server/core/run/devices.h"

namespace hotplate::server {
namespace {

// The part of the machine that jobs may use: the system's limits, and within them Slurm's share.
struct Share {
  int allowed_threads = 1, threads = 1;
  std::uint64_t allowed_bytes = 0, bytes = 0;
  bool without_proc = false;
};

Share ShareOf(const Allocation& allocation) {
  Share share;
  share.allowed_threads = share.threads = cpu::UsableThreads();
  if (allocation.cpus > 0) share.threads = std::min(share.threads, static_cast<int>(allocation.cpus));
  const cpu::Memory memory = cpu::ReadMemory();
  share.allowed_bytes = share.bytes = memory.total;
  if (const std::optional<std::uint64_t> left = cpu::AddressesLeft()) share.bytes = std::min(share.bytes, *left);
  share.without_proc = memory.without_proc;
  if (allocation.memory_bytes > 0) share.bytes = std::min(share.bytes, allocation.memory_bytes);
  return share;
}

std::string WhyFewerThreads(const Share& share) {
  std::ostringstream why;
  if (share.threads < share.allowed_threads) {
    why << "Slurm gave " << share.threads << (share.threads == 1 ? " CPU" : " CPUs") << " (SLURM_CPUS_ON_NODE)";
    return why.str();
  }
  const std::optional<double> quota = cpu::ProcessorQuota();
  const std::size_t processors = cpu::AllowedProcessors().size();
  why << "the affinity mask has " << processors << (processors == 1 ? " processor" : " processors");
  if (quota) why << ", the cgroup's quota is of " << *quota;
  return why.str();
}

// Notes if the CPU's lanes get less than was asked for, or less than there is.
void AddCpuNotes(const Config& config, const Allocation& allocation, const Share& share,
                 std::vector<std::string>& notes) {
  if (config.threads > share.threads) {
    notes.push_back("threads: " + std::to_string(config.threads) + " are asked for, " + std::to_string(share.threads) +
                    " given: " + WhyFewerThreads(share));
  } else if (config.threads == 0 && share.threads < share.allowed_threads) {
    notes.push_back("threads: " + std::to_string(share.threads) + " of the " + std::to_string(share.allowed_threads) +
                    " that could be used here: " + WhyFewerThreads(share));
  }
  if (share.without_proc) {
    notes.push_back(
        "memory: " + BytesText(share.allowed_bytes) +
        ", by the system's own count: /proc/meminfo cannot be read here. What files are cached in counts as "
        "taken, and the limits of control groups may not be known; mount /proc to have both");
  }
  if (share.bytes < share.allowed_bytes) {
    notes.push_back("memory: " + BytesText(share.bytes) + " of the " + BytesText(share.allowed_bytes) +
                    " that could be used here: so much Slurm gave (" + allocation.memory_source + ")");
  }
}

// CUDA goes by CUDA_VISIBLE_DEVICES, which scripts change, and by the site's cgroups, which not every site has.
std::optional<std::string> WrongGpuCount(const Config& config, const Allocation& allocation, std::size_t open) {
  if (allocation.system != BatchSystem::kSlurm || !config.gpus.empty() || open == allocation.gpus) return std::nullopt;
  const auto gpus = [](std::size_t count) { return std::to_string(count) + (count == 1 ? " GPU" : " GPUs"); };
  if (allocation.gpus == 0) {
    return "Slurm names no GPU of this node for job " + allocation.job_id + ", and " + gpus(open) +
           (open == 1 ? " is" : " are") +
           " open: unless the node is all yours, ask for them (--gpus, --gres=gpu), or they may be another's";
  }
  const std::string given = "Slurm gave " + gpus(allocation.gpus) + " of this node" +
                            (allocation.gpu_ids.empty() ? "" : " (its numbers: " + allocation.gpu_ids + ")");
  if (open < allocation.gpus) return given + ", and " + std::to_string(open) + " can be used";
  return given + ", and " + std::to_string(open) +
         " are open, of which some may be another's: CUDA_VISIBLE_DEVICES is not what Slurm sets; leave it alone, or "
         "choose with --device gpu0,...";
}

std::string Reasons(const DeviceSet& set) {
  std::string reasons;
  for (const std::string& note : set.notes) reasons += (reasons.empty() ? ": " : "; ") + note;
  return reasons;
}

}  // namespace

absl::StatusOr<DeviceSet> ChooseDevices(const Config& config, const Allocation& allocation, const Catalog& catalog,
                                        std::function<void(const std::string&)> log, HostLimits& host) {
  DeviceSet chosen;
  const Share share = ShareOf(allocation);
  CpuOptions cpu_options;
  cpu_options.lanes = config.lanes;
  cpu_options.threads = config.threads == 0 ? share.threads : std::min(config.threads, share.threads);
  cpu_options.memory_bytes = share.bytes;
  host = {share.bytes, cpu_options.threads};

  if (config.device != DeviceChoice::kCpu) {
    CudaOptions options;
    options.lanes = config.lanes;
    options.indices = config.gpus;
    options.given = allocation.gpu_numbers;
    const HostShare of_device = HostShareFor(config.lanes, host.bytes, share.threads);
    options.copy_threads = of_device.copy_threads;
    options.pinned_bytes = of_device.pinned_bytes;
    options.cubins = CubinFolder(config);
    options.log = std::move(log);
    chosen = OpenCudaDevices(options, catalog);
    host.bytes -= std::min(host.bytes, chosen.devices.size() * options.pinned_bytes);  // pinned memory is not the jobs'
    if (auto note = WrongGpuCount(config, allocation, chosen.devices.size())) chosen.notes.push_back(*std::move(note));
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
    cpu_options.threads = std::max(1, cpu_options.threads / config.cpu_devices);
    cpu_options.memory_bytes = share.bytes / static_cast<std::uint64_t>(config.cpu_devices);
    for (cpu_options.index = 0; cpu_options.index < config.cpu_devices; ++cpu_options.index) {
      chosen.devices.push_back(OpenCpuDevice(cpu_options));
    }
    AddCpuNotes(config, allocation, share, chosen.notes);
  }
  if (const absl::Status few = core::CheckNumber(chosen); !few.ok()) return few;
  return chosen;
}

}  // namespace hotplate::server
