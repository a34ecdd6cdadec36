// Eigenvalues and eigenvectors of square matrices of any kind.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::eig {

KernelSpecBuilder Spec();

// Expects a call that the spec has accepted, with outputs and scratch already there. Does not allocate.
MemoryPlan PlanCpu(const BoundCall& call);
Outcome RunCpu(const Call& call, CpuContext& context);

}  // namespace hotplate::eig
