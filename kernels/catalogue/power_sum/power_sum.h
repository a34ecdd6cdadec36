// y = x + x^2 + x^3, element by element.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::power_sum {

KernelSpecBuilder Spec();

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);  // enqueues on the context's stream; does not wait

}  // namespace hotplate::power_sum
