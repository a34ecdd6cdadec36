// y = x with the elements of each row, along the last axis, in order.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::sort {

KernelSpecBuilder Spec();

MemoryPlan PlanCpu(const BoundCall& call);

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);  // enqueues on the context's stream; does not wait

}  // namespace hotplate::sort
