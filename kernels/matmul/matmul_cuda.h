// How a row-major product is put to cuBLASLt, which counts in columns. Plain code, tested without a GPU.
#pragma once

#include <cstdint>

#include "kernels/call.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/traits.h"

namespace hotplate::matmul {

// A row-major [r, c] array read by columns is a c x r matrix with leading dimension c: its transpose. So c = op(a)
// op(b) becomes c^T = op(b)^T op(a)^T: b comes first, both keep their transposes, and nothing is moved.
struct Operand {
  std::uint64_t rows = 0, columns = 0;  // as cuBLASLt sees the array
  bool transpose = false;
  std::int64_t leading() const { return static_cast<std::int64_t>(rows); }
};

struct Product {
  std::uint64_t m = 0, n = 0, k = 0;  // of c = op(a) op(b), row-major
  Operand first, second, result;      // b, a, c
};

inline Product ProductOf(const std::int64_t* a_shape, bool transpose_a, const std::int64_t* b_shape, bool transpose_b) {
  const auto size = [](std::int64_t side) { return static_cast<std::uint64_t>(side); };
  Product product;
  product.m = size(a_shape[transpose_a ? 1 : 0]);
  product.k = size(a_shape[transpose_a ? 0 : 1]);
  product.n = size(b_shape[transpose_b ? 0 : 1]);
  product.first = {.rows = size(b_shape[1]), .columns = size(b_shape[0]), .transpose = transpose_b};
  product.second = {.rows = size(a_shape[1]), .columns = size(a_shape[0]), .transpose = transpose_a};
  product.result = {.rows = product.n, .columns = product.m, .transpose = false};
  return product;
}

// Scratch: the library's workspace, then, for bf16 and f16, both inputs in that type.
struct ScratchLayout {
  std::uint64_t workspace_bytes = 0, a = 0, b = 0, bytes = 0;
};

inline ScratchLayout LayOutScratch(const Product& product, int precision, const CudaTraits& traits) {
  ScratchLayout layout;
  // What NVIDIA recommends: Hopper's and later kernels ask for more.
  layout.workspace_bytes = std::uint64_t{traits.compute_major >= 9 ? 32u : 8u} << 20;
  layout.a = layout.b = layout.bytes = layout.workspace_bytes;
  if (precision == HOTPLATE_PRECISION_BF16 || precision == HOTPLATE_PRECISION_F16) {
    layout.b = layout.a + RoundUp(product.m * product.k * 2, kArenaAlignment);
    layout.bytes = layout.b + RoundUp(product.k * product.n * 2, kArenaAlignment);
  }
  return layout;
}

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

}  // namespace hotplate::matmul
