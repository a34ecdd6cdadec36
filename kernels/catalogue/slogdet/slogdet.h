// The sign and the logarithm of the magnitude of a's determinant, by LU factors.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::slogdet {

KernelSpecBuilder Spec();

// Expects a call that the spec has accepted, with outputs and scratch already there. Does not allocate.
MemoryPlan PlanCpu(const BoundCall& call);
Outcome RunCpu(const Call& call, CpuContext& context);

}  // namespace hotplate::slogdet
