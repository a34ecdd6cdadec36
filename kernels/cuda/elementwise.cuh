// Launches of functors over arrays, element by element: 16-byte accesses where the arrays allow, several in flight to
// a thread. For .cu files.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/context.h"

namespace hotplate::elementwise {

// kWidth elements that are loaded or stored at once.
template <typename T, int kWidth>
struct alignas(sizeof(T) * kWidth) Pack {
  T element[kWidth];
};

// Packs that a thread loads before it computes with the first.
inline constexpr int kUnroll = 2;

template <int kWidth, typename F, typename In, typename Out>
__global__ void __launch_bounds__(kBlockSize)
    Unary(F functor, const In* __restrict__ x, Out* __restrict__ y, std::size_t n) {
  const std::size_t packs = n / kWidth;
  const std::size_t first = std::size_t{blockIdx.x} * (kBlockSize * kUnroll) + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * (kBlockSize * kUnroll);
  for (std::size_t base = first; base < packs; base += stride) {
    Pack<In, kWidth> in[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::size_t i = base + std::size_t{kBlockSize} * u;
      if (i < packs) in[u] = reinterpret_cast<const Pack<In, kWidth>*>(x)[i];
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::size_t i = base + std::size_t{kBlockSize} * u;
      if (i >= packs) continue;
      Pack<Out, kWidth> out;
#pragma unroll
      for (int w = 0; w < kWidth; ++w) out.element[w] = functor(static_cast<Out>(in[u].element[w]));
      reinterpret_cast<Pack<Out, kWidth>*>(y)[i] = out;
    }
  }
  const std::size_t tail = packs * kWidth + first;  // what no pack covers: the first block's first threads
  if (blockIdx.x == 0 && tail < n) y[tail] = functor(static_cast<Out>(x[tail]));
}

template <int kWidth, typename F, typename T>
__global__ void __launch_bounds__(kBlockSize)
    Binary(F functor, const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, std::size_t n) {
  using P = Pack<T, kWidth>;
  const std::size_t packs = n / kWidth;
  const std::size_t first = std::size_t{blockIdx.x} * (kBlockSize * kUnroll) + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * (kBlockSize * kUnroll);
  for (std::size_t base = first; base < packs; base += stride) {
    P left[kUnroll], right[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::size_t i = base + std::size_t{kBlockSize} * u;
      if (i >= packs) continue;
      left[u] = reinterpret_cast<const P*>(a)[i];
      right[u] = reinterpret_cast<const P*>(b)[i];
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::size_t i = base + std::size_t{kBlockSize} * u;
      if (i >= packs) continue;
      P out;
#pragma unroll
      for (int w = 0; w < kWidth; ++w) out.element[w] = functor(left[u].element[w], right[u].element[w]);
      reinterpret_cast<P*>(c)[i] = out;
    }
  }
  const std::size_t tail = packs * kWidth + first;
  if (blockIdx.x == 0 && tail < n) c[tail] = functor(a[tail], b[tail]);
}

template <typename... T>
bool Aligned16(const T*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) | ...) % 16) == 0;
}

// y[i] = functor(x[i]), computed in Out.
template <typename F, typename In, typename Out>
Outcome LaunchUnary(F functor, std::span<const In> x, std::span<Out> y, CudaContext& context) {
  const std::size_t n = y.size();
  if (n == 0) return Outcome::Ok();
  constexpr int kWidth = 16 / (sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out));
  if (Aligned16(x.data(), y.data())) {
    Unary<kWidth><<<GridFor(n, kWidth * kUnroll), kBlockSize, 0, context.stream()>>>(functor, x.data(), y.data(), n);
  } else {
    Unary<1><<<GridFor(n, kUnroll), kBlockSize, 0, context.stream()>>>(functor, x.data(), y.data(), n);
  }
  return context.LaunchStatus();
}

// c[i] = functor(a[i], b[i])
template <typename F, typename T>
Outcome LaunchBinary(F functor, std::span<const T> a, std::span<const T> b, std::span<T> c, CudaContext& context) {
  const std::size_t n = c.size();
  if (n == 0) return Outcome::Ok();
  constexpr int kWidth = 16 / sizeof(T);
  if (Aligned16(a.data(), b.data(), c.data())) {
    Binary<kWidth>
        <<<GridFor(n, kWidth * kUnroll), kBlockSize, 0, context.stream()>>>(functor, a.data(), b.data(), c.data(), n);
  } else {
    Binary<1><<<GridFor(n, kUnroll), kBlockSize, 0, context.stream()>>>(functor, a.data(), b.data(), c.data(), n);
  }
  return context.LaunchStatus();
}

}  // namespace hotplate::elementwise
