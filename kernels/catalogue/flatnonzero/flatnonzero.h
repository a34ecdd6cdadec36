// positions = where x is not zero.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::flatnonzero {

KernelSpecBuilder Spec();

MemoryPlan PlanCpu(const BoundCall& call);

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);  // waits for the number of positions

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

}  // namespace hotplate::flatnonzero
