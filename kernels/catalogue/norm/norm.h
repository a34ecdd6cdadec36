// Norms of vectors along an axis, and of matrices.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::norm {

KernelSpecBuilder Spec();

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);  // enqueues on the context's stream; does not wait

// The scratch that they expect.
MemoryPlan PlanCpu(const BoundCall& call);
std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

}  // namespace hotplate::norm
