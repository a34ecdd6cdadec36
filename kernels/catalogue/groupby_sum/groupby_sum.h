// The sums and the counts of the values of each key.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::groupby_sum {

KernelSpecBuilder Spec();

MemoryPlan PlanCpu(const BoundCall& call);
std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

// Both expect a call that the spec has accepted, with outputs and scratch already there, and say how many keys there
// are. Neither allocates. On a GPU it waits for that number.
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);

}  // namespace hotplate::groupby_sum
