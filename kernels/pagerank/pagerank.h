// PageRank of a graph whose edges are a sparse matrix in compressed rows, by power iteration.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace hotplate::pagerank {

KernelSpecBuilder Spec();

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
Outcome RunCpu(const Call& call, CpuContext& context);
// Enqueues on the context's stream, and waits for iterations, but not for the last ones.
Outcome RunCuda(const Call& call, CudaContext& context);

// The scratch that they expect.
MemoryPlan PlanCpu(const BoundCall& call);
std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);
// Refuses what the device found to be no graph; fails where the iteration did not converge.
Outcome FinishCuda(const Call& call, CudaContext& context);

}  // namespace hotplate::pagerank
