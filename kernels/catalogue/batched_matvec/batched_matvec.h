// y[i] = a x[i] for each of a batch of vectors: with one matrix for all of them, or one for each.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::batched_matvec {

KernelSpecBuilder Spec();

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);  // enqueues on the context's stream; does not wait

}  // namespace hotplate::batched_matvec
