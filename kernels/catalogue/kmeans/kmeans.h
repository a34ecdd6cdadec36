// k-means by Lloyd's iterations from given centroids.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::kmeans {

KernelSpecBuilder Spec();

MemoryPlan PlanCpu(const BoundCall& call);
std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates. INVALID for
// elements that are not finite.
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);  // enqueues on the context's stream, and waits for iterations

}  // namespace hotplate::kmeans
