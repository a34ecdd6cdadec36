#include "server/devices.h"

#include <utility>

#include "kernels/status.h"

namespace hotplate::server {

absl::StatusOr<DeviceSet> ChooseDevices(const Config& config, const Catalog& catalog,
                                        std::function<void(const std::string&)> log, std::uint64_t& host_bytes) {
  DeviceSet chosen;
  CpuOptions cpu_options;
  cpu_options.lanes = config.lanes;
  cpu_options.threads = config.threads;
  std::unique_ptr<Device> cpu = OpenCpuDevice(cpu_options);
  host_bytes = cpu->info().memory_bytes;

  if (config.device != DeviceChoice::kCpu) {
    CudaOptions options;
    options.lanes = config.lanes;
    options.log = std::move(log);
    chosen = OpenCudaDevices(options, catalog);
  }
  if (chosen.devices.empty() && (config.require_cuda || config.device == DeviceChoice::kCuda)) {
    std::string reasons;
    for (const std::string& note : chosen.notes) reasons += (reasons.empty() ? ": " : "; ") + note;
    return absl::FailedPreconditionError(ToAbsl("no usable CUDA device" + reasons +
                                                "; use --device cpu, or auto without --require-cuda, to do without"));
  }
  if (config.device != DeviceChoice::kCuda) chosen.devices.push_back(std::move(cpu));
  return chosen;
}

}  // namespace hotplate::server
