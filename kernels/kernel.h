// What a kernel's own header is written with: the call, and the names of what it hands on.
#pragma once

#include "kernels/call.h"

namespace hotplate {

class CpuContext;
class CudaContext;
class KernelSpecBuilder;
struct BoundCall;
struct CudaTraits;
struct MemoryPlan;

}  // namespace hotplate
