// Discrete Fourier transforms along the last axis or the last two.
#pragma once

#include "kernels/call/call.h"

namespace hotplate {
class KernelSpecBuilder;
class CpuContext;
class CudaContext;
struct BoundCall;
struct MemoryPlan;
}  // namespace hotplate

namespace hotplate::fft {

KernelSpecBuilder Spec();

// Both expect a call that the spec has accepted, with outputs and scratch already there.
MemoryPlan PlanCpu(const BoundCall& call);
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);  // enqueues on the context's stream; does not wait

}  // namespace hotplate::fft
