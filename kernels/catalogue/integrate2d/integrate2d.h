// The double integral of sin(x + y) by the midpoint rule.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::integrate2d {

KernelSpecBuilder Spec();

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);  // enqueues on the context's stream; does not wait

// The scratch that RunCpu expects.
MemoryPlan PlanCpu(const BoundCall& call);

}  // namespace hotplate::integrate2d
