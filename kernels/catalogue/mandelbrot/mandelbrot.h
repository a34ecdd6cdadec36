// Per point c of a grid: how often z <- z^2 + c is done, from z = c, while |z| < 2.
#pragma once

#include "kernels/call/kernel.h"

namespace hotplate::mandelbrot {

KernelSpecBuilder Spec();

// Both expect a call that the spec has accepted, with outputs and scratch already there. Neither allocates.
Outcome RunCpu(const Call& call, CpuContext& context);
Outcome RunCuda(const Call& call, CudaContext& context);  // enqueues on the context's stream; does not wait

}  // namespace hotplate::mandelbrot
