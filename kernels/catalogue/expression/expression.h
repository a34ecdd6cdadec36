// A line of NumPy, in one pass over memory: the kernel that runs every text of client/docs/expressions.md.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::expression {

// Both expect a call that the spec has accepted, with outputs already there: the parameter of the type choice has the
// text, the others are its numbers. Both keep what they made of the texts that were used last.
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);  // enqueues on the context's stream; does not wait

}  // namespace hotplate::expression
