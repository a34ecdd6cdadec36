// Eigenvalues and eigenvectors of symmetric matrices.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::eigh {

KernelSpecBuilder Spec();

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
MemoryPlan PlanCpu(const BoundCall& call);
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);  // enqueues on the context's stream; does not wait

}  // namespace hotplate::eigh
