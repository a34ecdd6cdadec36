// sort_by_key's function for the plan. The arithmetic is sort's.
#pragma once

#include "kernels/catalogue/sort/radix_cuda.h"

namespace hotplate::sort_by_key {

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

}  // namespace hotplate::sort_by_key
