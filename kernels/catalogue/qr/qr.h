// a = q r, q with orthonormal columns and r upper triangular.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::qr {

KernelSpecBuilder Spec();

// Expects a call that the spec has accepted, with outputs and scratch already there. Does not allocate.
MemoryPlan PlanCpu(const BoundCall& call);
Outcome RunCpu(const Call& call, CpuContext& context);

}  // namespace hotplate::qr
