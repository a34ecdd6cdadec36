// Included by each kernel's own header: the call, and the names of the types that it passes on.
#pragma once

#include "kernels/call/call.h"

namespace hotplate {

class CpuContext;
class CudaContext;
class KernelSpecBuilder;
struct BoundCall;
struct CudaTraits;
struct MemoryPlan;

}  // namespace hotplate
