// y = the sums or products of x's elements up to each, along an axis.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::scan {

KernelSpecBuilder Spec();

MemoryPlan PlanCpu(const BoundCall& call);

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);  // enqueues on the context's stream; does not wait

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

}  // namespace hotplate::scan
