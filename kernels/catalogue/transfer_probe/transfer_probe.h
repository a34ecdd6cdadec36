// How fast this device's memory is reached: bytes copied from the host, to it, and within the device.
#pragma once

#include <cstdint>

#include "kernels/call/kernel.h"

namespace hotplate::transfer_probe {

KernelSpecBuilder Spec();

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
MemoryPlan PlanCpu(const BoundCall& call);
Outcome RunCpu(const Call& call, CpuContext& context);
std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);
Outcome RunCuda(const Call& call, CudaContext& context);  // waits for its copies: it takes their times on the host

}  // namespace hotplate::transfer_probe
