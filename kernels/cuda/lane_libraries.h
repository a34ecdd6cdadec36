// A lane's handles of CUDA's libraries, and what they chose before. For files compiled with the CUDA Toolkit.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <type_traits>

#include "kernels/cuda/kernel_side.h"

namespace hotplate {

template <auto kDestroy>
struct Destroy {
  template <typename T>
  void operator()(T* handle) const {
    static_cast<void>(kDestroy(handle));
  }
};

using OwnedBlas = std::unique_ptr<std::remove_pointer_t<cublasLtHandle_t>, Destroy<cublasLtDestroy>>;

// What a product's algorithm depends on. Scratch and arrays are always on multiples of 256 bytes.
struct ProductKey {
  std::uint64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  int dtype = 0, precision = 0;

  auto operator<=>(const ProductKey&) const = default;
};

// One lane's, used by its thread only.
struct LaneLibraries {
  // Asking cuBLASLt for an algorithm takes longer than a small product.
  static constexpr std::size_t kMostAlgorithms = 256;

  OwnedBlas blas;
  std::map<ProductKey, cublasLtMatmulAlgo_t> algorithms;  // of products that were run
};

}  // namespace hotplate
