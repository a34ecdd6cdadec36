// The CPU back-end's table of kernels, and what runs expressions: one row to each.
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "kernels/call/call.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/device.h"

namespace hotplate::cpu {

struct Launcher {
  const char* name;
  Outcome (*run)(const Call& call, CpuContext& context);
  // Null for a kernel without scratch.
  MemoryPlan (*plan)(const BoundCall& call) = nullptr;
};

std::span<const Launcher> Launchers();

}  // namespace hotplate::cpu
