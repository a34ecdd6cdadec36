// y = where elements of x would be put into the sorted vector v.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::searchsorted {

KernelSpecBuilder Spec();

// Expects a call that the spec has accepted, with outputs and scratch already there. Does not allocate.
Outcome RunCpu(const Call& call, CpuContext& context);

}  // namespace hotplate::searchsorted
