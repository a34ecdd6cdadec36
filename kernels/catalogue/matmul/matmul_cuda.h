// How a row-major product is put to cuBLASLt, which counts in columns. Plain code, tested without a GPU.
#pragma once

#include <cstdint>

#include "kernels/call/call.h"
#include "kernels/catalogue/matmul/products.h"
#include "kernels/devices/cuda/code/grid.h"
#include "kernels/devices/cuda/code/traits.h"

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

inline Product ProductOf(const Products& all) {
  return {.m = all.m,
          .n = all.n,
          .k = all.k,
          .first = {.rows = all.transpose_b ? all.k : all.n,
                    .columns = all.transpose_b ? all.n : all.k,
                    .transpose = all.transpose_b},
          .second = {.rows = all.transpose_a ? all.m : all.k,
                     .columns = all.transpose_a ? all.k : all.m,
                     .transpose = all.transpose_a},
          .result = {.rows = all.n, .columns = all.m, .transpose = false}};
}

// Products that one call of the library is given: a batch of them is a dimension of its grids.
inline constexpr std::uint64_t kMostProducts = 65'535;

// The largest power of two, at most 256, that divides all of these addresses.
inline std::uint32_t AlignmentOf(const void* a, const void* b, const void* c) {
  const auto bits = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) |
                    reinterpret_cast<std::uintptr_t>(c) | kArenaAlignment;
  return static_cast<std::uint32_t>(bits & -bits);
}

// Scratch: the library's workspace, then, for bf16 and f16, both inputs in that type.
struct ScratchLayout {
  std::uint64_t workspace_bytes = 0, a = 0, b = 0, bytes = 0;
};

inline ScratchLayout LayOutScratch(std::uint64_t a_elements, std::uint64_t b_elements, int precision,
                                   const CudaTraits& traits) {
  ScratchLayout layout;
  // NVIDIA's recommendation: kernels for Hopper and later ask for more.
  layout.workspace_bytes = std::uint64_t{traits.compute_major >= 9 ? 32u : 8u} << 20;
  layout.a = layout.b = layout.bytes = layout.workspace_bytes;
  if (precision == HOTPLATE_PRECISION_BF16 || precision == HOTPLATE_PRECISION_F16) {
    layout.b = layout.a + RoundUp(a_elements * 2, kArenaAlignment);
    layout.bytes = layout.b + RoundUp(b_elements * 2, kArenaAlignment);
  }
  return layout;
}

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

}  // namespace hotplate::matmul
