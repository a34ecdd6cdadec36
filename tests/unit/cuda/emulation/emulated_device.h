// A device whose kernels run on the host (grid.h), with the stand-ins beside this file for CUDA's libraries.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "kernels/devices/cuda/code/traits.h"
#include "kernels/devices/cuda/plugin/lane_libraries.h"
#include "kernels/devices/cuda/plugin/launchers.h"
#include "kernels/devices/device.h"
#include "tests/unit/cuda/emulation/grid.h"

namespace hotplate::emulation {

// Null if there is none.
const CudaLauncher* FindLauncher(std::string_view kernel);

// So slow that everything is cut into many chunks; and so fast that nothing is.
inline constexpr CudaTraits kSlow{.compute_major = 7,
                                  .compute_minor = 5,
                                  .multiprocessors = 2,
                                  .cycles_per_ms = 4000,
                                  .float_operations_per_ms = 5e6,
                                  .double_operations_per_ms = 1e6};
inline constexpr CudaTraits kFast{.compute_major = 9,
                                  .compute_minor = 0,
                                  .multiprocessors = 3,
                                  .cycles_per_ms = 1e12,
                                  .float_operations_per_ms = 1e15,
                                  .double_operations_per_ms = 1e15};

class EmulatedLane : public Lane {
 public:
  explicit EmulatedLane(const CudaTraits& traits, Order order = Order::kForward);

  Report Run(const Task& task, TaskControl& control) override;

  LaneLibraries& libraries() { return libraries_; }
  // Of the last task: the scratch that was planned before a lane had it.
  std::uint64_t planned() const { return planned_; }
  // Of the last task: after how many of its steps the host looked, or would have.
  std::uint64_t steps() const { return steps_; }
  // Tasks from now on are asked to end once so many of their steps are enqueued; 0: none is.
  void CancelAfter(std::uint64_t steps) { cancel_after_ = steps; }

 private:
  const CudaTraits traits_;
  const Order order_;
  LaneLibraries libraries_;
  std::uint64_t planned_ = 0, steps_ = 0, cancel_after_ = 0;
};

class EmulatedDevice : public Device {
 public:
  explicit EmulatedDevice(const CudaTraits& traits) : traits_(traits) {}

  const DeviceInfo& info() const override { return info_; }
  absl::StatusOr<MemoryPlan> Plan(const BoundCall&) const override { return MemoryPlan{}; }
  absl::StatusOr<std::unique_ptr<Lane>> OpenLane() override { return std::make_unique<EmulatedLane>(traits_); }
  std::uint64_t FreeBytes() const override { return 0; }
  DeviceMetrics Sample() override { return {}; }

 private:
  const CudaTraits traits_;
  const DeviceInfo info_;
};

}  // namespace hotplate::emulation
