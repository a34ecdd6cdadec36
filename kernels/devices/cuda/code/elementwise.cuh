// Launches of functors over arrays, element by element: 16-byte accesses where the arrays allow, several in flight to
// a thread. For .cu files.
//
// A functor has operator() for one element, or, where elements that are computed together are cheaper, a member
//   template <int kWidth> void Several(const Out (&x)[kWidth], Out (&y)[kWidth]) const
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/devices/cuda/code/launch.h"
#include "kernels/families/broadcast.h"

namespace hotplate::elementwise {

// kWidth elements that are loaded or stored at once.
template <typename T, int kWidth>
struct alignas(sizeof(T) * kWidth) Pack {
  T element[kWidth];
};

// 16-byte loads that a thread issues before it computes with the first. The compiler keeps this order for two reasons:
// the pointers are not __restrict__ (it would delay loads that no store can change), and kBlocks blocks a
// multiprocessor leave enough registers for the loaded values.
inline constexpr int kLoads = 4, kBlocks = 4;

// Walks the packs of an array: load(u, i) for several packs i, then store(u, i) for each of them, u being the pack's
// place among them. A whole tile, the usual case, is not checked pack by pack.
template <int kUnroll, typename Load, typename Store>
__device__ __forceinline__ void ForEachPack(std::size_t packs, const Load& load, const Store& store) {
  constexpr std::size_t kTile = std::size_t{kBlockSize} * kUnroll;
  for (std::size_t tile = blockIdx.x * kTile; tile < packs; tile += gridDim.x * kTile) {
    const std::size_t first = tile + threadIdx.x;
    if (packs - tile >= kTile) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) load(u, first + static_cast<std::size_t>(u) * kBlockSize);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) store(u, first + static_cast<std::size_t>(u) * kBlockSize);
    } else {
#pragma unroll 1
      for (std::size_t i = first; i < packs; i += kBlockSize) {
        load(0, i);
        store(0, i);
      }
    }
  }
}

template <int kWidth, typename F, typename In, typename Out>
__device__ __forceinline__ Pack<Out, kWidth> Apply(const F& functor, const Pack<In, kWidth>& in) {
  Pack<Out, kWidth> out;
  if constexpr (requires(Out(&both)[kWidth]) { functor.Several(both, both); }) {
    Out x[kWidth];
#pragma unroll
    for (int w = 0; w < kWidth; ++w) x[w] = static_cast<Out>(in.element[w]);
    functor.Several(x, out.element);
  } else {
#pragma unroll
    for (int w = 0; w < kWidth; ++w) out.element[w] = functor(static_cast<Out>(in.element[w]));
  }
  return out;
}

template <int kWidth, typename F, typename In, typename Out>
__global__ void __launch_bounds__(kBlockSize, kBlocks) Unary(F functor, const In* x, Out* y, std::size_t n) {
  constexpr int kUnroll = kLoads;
  Pack<In, kWidth> in[kUnroll];
  const std::size_t packs = n / kWidth;
  ForEachPack<kUnroll>(
      packs, [&](int u, std::size_t i) { in[u] = reinterpret_cast<const Pack<In, kWidth>*>(x)[i]; },
      [&](int u, std::size_t i) {
        reinterpret_cast<Pack<Out, kWidth>*>(y)[i] = Apply<kWidth, F, In, Out>(functor, in[u]);
      });
  const std::size_t tail = packs * kWidth + threadIdx.x;  // elements outside of the packs
  if (blockIdx.x == 0 && tail < n) {
    const Pack<In, 1> last{{x[tail]}};
    y[tail] = Apply<1, F, In, Out>(functor, last).element[0];
  }
}

template <int kWidth, typename F, typename T>
__global__ void __launch_bounds__(kBlockSize, kBlocks) Binary(F functor, const T* a, const T* b, T* c, std::size_t n) {
  using P = Pack<T, kWidth>;
  constexpr int kUnroll = kLoads / 2;
  P left[kUnroll], right[kUnroll];
  const std::size_t packs = n / kWidth;
  ForEachPack<kUnroll>(
      packs,
      [&](int u, std::size_t i) {
        left[u] = reinterpret_cast<const P*>(a)[i];
        right[u] = reinterpret_cast<const P*>(b)[i];
      },
      [&](int u, std::size_t i) {
        P out;
#pragma unroll
        for (int w = 0; w < kWidth; ++w) out.element[w] = functor(left[u].element[w], right[u].element[w]);
        reinterpret_cast<P*>(c)[i] = out;
      });
  const std::size_t tail = packs * kWidth + threadIdx.x;
  if (blockIdx.x == 0 && tail < n) c[tail] = functor(a[tail], b[tail]);
}

// For broadcast inputs: each thread finds the place of a pack's first element by division, and the others by counting.
// Index: an unsigned type that counts c's elements; 32 bits if they suffice, since 64-bit division is slow.
template <int kWidth, typename Index, typename F, typename T>
__global__ void __launch_bounds__(kBlockSize)
    BroadcastBinary(F functor, Broadcast shape, const T* a, const T* b, T* c, std::size_t n) {
  const Index inner = static_cast<Index>(shape.axes[0].size);
  const auto a_step = shape.axes[0].a_step, b_step = shape.axes[0].b_step;
  const std::size_t stride = std::size_t{gridDim.x} * kBlockSize;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlockSize + threadIdx.x; i < (n + kWidth - 1) / kWidth; i += stride) {
    const std::size_t first = i * kWidth;
    Index line = static_cast<Index>(first) / inner, at = static_cast<Index>(first) - line * inner;
    Broadcast::Place place = shape.Line(line);
    const auto next = [&] {
      const T result = functor(a[place.a + at * a_step], b[place.b + at * b_step]);
      if (++at == inner) {
        at = 0;
        place = shape.Line(++line);
      }
      return result;
    };
    if (n - first >= kWidth) {
      Pack<T, kWidth> out;
#pragma unroll
      for (int w = 0; w < kWidth; ++w) out.element[w] = next();
      *reinterpret_cast<Pack<T, kWidth>*>(c + first) = out;
    } else {
      for (std::size_t last = first; last < n; ++last) c[last] = next();
    }
  }
}

// Elements computed from their index alone, in packs of 16 bytes. A functor with elements that are cheaper together has
// a member
//   template <int kWidth> void Several(std::uint64_t index, T (&y)[kWidth]) const
// for those from index on, a multiple of kWidth.
template <int kWidth, typename F, typename T>
__global__ void __launch_bounds__(kBlockSize, kBlocks) Indexed(F functor, T* y, std::size_t n) {
  const std::size_t packs = n / kWidth;
  ForEachPack<kLoads>(
      packs, [](int, std::size_t) {},
      [&](int, std::size_t i) {
        Pack<T, kWidth> out;
        if constexpr (requires(T(&several)[kWidth]) { functor.Several(std::uint64_t{0}, several); }) {
          functor.Several(i * kWidth, out.element);
        } else {
#pragma unroll
          for (int w = 0; w < kWidth; ++w) out.element[w] = functor(i * kWidth + static_cast<std::uint64_t>(w));
        }
        reinterpret_cast<Pack<T, kWidth>*>(y)[i] = out;
      });
  const std::size_t tail = packs * kWidth + threadIdx.x;
  if (blockIdx.x == 0 && tail < n) y[tail] = functor(tail);
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
    return Launch(context, Unary<kWidth, F, In, Out>, GridFor(n, kWidth * kLoads), kBlockSize, functor, x.data(),
                  y.data(), n);
  }
  return Launch(context, Unary<1, F, In, Out>, GridFor(n, kLoads), kBlockSize, functor, x.data(), y.data(), n);
}

// c[i] = functor(a[i], b[i])
template <typename F, typename T>
Outcome LaunchBinary(F functor, std::span<const T> a, std::span<const T> b, std::span<T> c, CudaContext& context) {
  const std::size_t n = c.size();
  if (n == 0) return Outcome::Ok();
  constexpr int kWidth = 16 / sizeof(T);
  if (Aligned16(a.data(), b.data(), c.data())) {
    return Launch(context, Binary<kWidth, F, T>, GridFor(n, kWidth * kLoads / 2), kBlockSize, functor, a.data(),
                  b.data(), c.data(), n);
  }
  return Launch(context, Binary<1, F, T>, GridFor(n, kLoads / 2), kBlockSize, functor, a.data(), b.data(), c.data(), n);
}

// The same with inputs that are broadcast to c, which has elements.
template <typename F, typename T>
Outcome LaunchBroadcast(F functor, const Broadcast& shape, const T* a, const T* b, std::span<T> c,
                        CudaContext& context) {
  const std::size_t n = c.size();
  constexpr int kWidth = 16 / sizeof(T);
  if (!Aligned16(c.data())) {
    return Launch(context, BroadcastBinary<1, std::uint64_t, F, T>, GridFor(n), kBlockSize, functor, shape, a, b,
                  c.data(), n);
  }
  const auto kernel =
      n <= UINT32_MAX ? BroadcastBinary<kWidth, std::uint32_t, F, T> : BroadcastBinary<kWidth, std::uint64_t, F, T>;
  return Launch(context, kernel, GridFor(n, kWidth), kBlockSize, functor, shape, a, b, c.data(), n);
}

// y[i] = functor(i)
template <typename F, typename T>
Outcome LaunchIndexed(F functor, std::span<T> y, CudaContext& context) {
  const std::size_t n = y.size();
  if (n == 0) return Outcome::Ok();
  constexpr int kWidth = 16 / sizeof(T);
  if (Aligned16(y.data())) {
    return Launch(context, Indexed<kWidth, F, T>, GridFor(n, kWidth * kLoads), kBlockSize, functor, y.data(), n);
  }
  return Launch(context, Indexed<1, F, T>, GridFor(n, kLoads), kBlockSize, functor, y.data(), n);
}

}  // namespace hotplate::elementwise
