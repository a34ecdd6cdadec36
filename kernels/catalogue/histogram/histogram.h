// How many elements fall into each of equally wide bins.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::histogram {

KernelSpecBuilder Spec();

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
Outcome RunCpu(const Call& call, CpuContext& context);
// Enqueues on the context's stream. Waits for the data's range, which may be refused; not for the counts.
Outcome RunCuda(const Call& call, CudaContext& context);

// The scratch that they expect.
MemoryPlan PlanCpu(const BoundCall& call);
std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

}  // namespace hotplate::histogram
