// How devices are: what the sampler sees, and what receipts say of it.
#include <algorithm>

#include "server/core/engine_impl.h"

namespace hotplate::core {

DeviceMetrics Engine::Impl::SampleDevice(std::size_t index) {
  DeviceState& device = *devices_[index];
  DeviceMetrics metrics = history_.Read(index, *device.device, clock_);
  if (!metrics.lost.empty()) {
    Aftermath after;
    {
      std::scoped_lock lock(mutex_);
      LoseDevice(device, metrics.lost, after);
    }
    Perform(after);
  }
  return metrics;
}

// A task is: copies to the device, the kernel, copies from it; its end is known best.
DeviceConditions Engine::Impl::ConditionsOf(const DeviceState& device, const RunResult& result, SteadyTime start,
                                            SteadyTime end) {
  const auto earlier = [start](SteadyTime time, const std::optional<std::uint64_t>& ns) {
    return std::max(start, time - nanoseconds(static_cast<nanoseconds::rep>(ns.value_or(0))));
  };
  const SteadyTime kernel_end = earlier(end, result.report.device_to_host_ns);
  const SteadyTime kernel_start = result.report.kernel_ns ? earlier(kernel_end, result.report.kernel_ns) : kernel_end;
  const bool lost = result.kind == RunResult::Kind::kDeviceLost;
  return history_.Conditions(device.index, kernel_start, kernel_end, lost ? nullptr : device.device, clock_);
}

DeviceMetrics Engine::SampleDevice(std::size_t index) { return impl_->SampleDevice(index); }

}  // namespace hotplate::core
