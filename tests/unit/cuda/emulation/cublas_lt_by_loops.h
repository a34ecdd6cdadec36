// cuBLASLt by loops on the host: what matmul asks of the library, and what it makes of a precision, is judged without a
// GPU. An algorithm is good for the product that it was chosen for and for no other.
#pragma once

#include <vector>

#include "kernels/devices/cuda/libraries/cublas_lt.h"

namespace hotplate::emulation {

// As the loader finds them.
CublasLt CublasLtByLoops();

// What a call of cublasLtMatmul asked for, in the library's terms: columns first.
struct Multiplied {
  cublasComputeType_t compute;
  cudaDataType_t in, out;
  cublasOperation_t transpose_a, transpose_b;
  std::int32_t count;
  std::int64_t a_offset, b_offset, c_offset;  // elements from a matrix to the next

  bool operator==(const Multiplied&) const = default;
};
// All calls since the last call of this.
std::vector<Multiplied> TakeMultiplied();

}  // namespace hotplate::emulation
