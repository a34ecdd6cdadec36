// PageRank by power iteration of a graph whose edges are a sparse matrix in compressed rows.
#pragma once

#include <cstdint>

#include "kernels/call/kernel.h"

namespace hotplate::pagerank {

KernelSpecBuilder Spec();

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
Outcome RunCpu(const Call& call, CpuContext& context);
// Enqueues on the context's stream, and waits for iterations, but not for the last ones.
Outcome RunCuda(const Call& call, CudaContext& context);

// The scratch that they expect.
MemoryPlan PlanCpu(const BoundCall& call);
std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);
// Refuses arrays that the device found not to be a graph; fails if the iteration did not converge.
Outcome FinishCuda(const Call& call, CudaContext& context);

}  // namespace hotplate::pagerank
