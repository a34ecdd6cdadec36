// A device's traits, by which kernels cut their work. Needs no CUDA.
#pragma once

#include "kernels/call/abi.h"

namespace hotplate {

// Properties of a device. The rates are estimates for cutting work into chunks, never for a receipt.
struct CudaTraits {
  int compute_major = 0, compute_minor = 0;
  int multiprocessors = 1;
  double cycles_per_ms = 1e6;  // of one multiprocessor
  double float_operations_per_ms = 1e9;
  double double_operations_per_ms = 1e9;
};

// The compute capability's major from which on a device multiplies in this precision (hotplate_precision).
constexpr int LeastComputeMajor(int precision) {
  switch (precision) {
    case HOTPLATE_PRECISION_TF32:
    case HOTPLATE_PRECISION_BF16:
      return 8;
    case HOTPLATE_PRECISION_F16:
      return 7;
    default:
      return 0;
  }
}

}  // namespace hotplate
