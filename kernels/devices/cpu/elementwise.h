// How elementwise kernels write their output: in place if it fits the caches, otherwise past them. A store past the
// caches does not first read the memory that it overwrites: a third of vector_add's traffic, 1.4 times its speed.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/multiversion.h"
#include "kernels/families/broadcast.h"

namespace hotplate {

// Outputs from this size on are streamed. Where little is read besides, the caches still keep much of a larger one, and
// two threads that only write take as long either way until it is some 80 MB; at 40 MB stores in place are 1.2 to 2
// times as fast, at 160 MB streams 1.2 times.
inline constexpr std::size_t kStreamFromBytes = std::size_t{32} << 20, kStreamMadeFromBytes = 3 * kStreamFromBytes;

// `range(begin, to, count)` computes elements [begin, begin + count) and writes them to `to`. Small pieces are computed
// into a buffer in the first-level cache and streamed from there.
template <typename T, typename Range>
HOTPLATE_INLINE void StreamRange(T* out, std::size_t begin, std::size_t end, const Range& range) {
#if defined(__x86_64__)
  constexpr std::size_t kBlockBytes = 512, kBlock = kBlockBytes / sizeof(T);
  alignas(64) T buffer[kBlock];
  std::size_t i = begin;
  if (reinterpret_cast<std::uintptr_t>(out + begin) % sizeof(__m128i) == 0) {
    for (; end - i >= kBlock; i += kBlock) {
      range(i, buffer, kBlock);
      const __m128i* from = reinterpret_cast<const __m128i*>(buffer);
      __m128i* to = reinterpret_cast<__m128i*>(out + i);
      for (std::size_t j = 0; j < kBlockBytes / sizeof(__m128i); ++j)
        _mm_stream_si128(to + j, _mm_load_si128(from + j));
    }
    _mm_sfence();  // other threads will read it
  }
  begin = i;
#endif
  if (begin < end) range(begin, out + begin, end - begin);
}

// The whole output, by all threads unless it is shorter than `serial_below`. `read_bytes`: of all inputs.
template <typename T, typename Range>
void Elementwise(CpuContext& context, std::span<T> out, std::size_t read_bytes, std::size_t serial_below,
                 const Range& range) {
  const bool made = read_bytes < out.size_bytes() / 4;  // of little or nothing
  const bool stream = out.size_bytes() >= (made ? kStreamMadeFromBytes : kStreamFromBytes);
  T* const first = out.data();
  context.ParallelFor(out.size(), serial_below, [=](std::size_t begin, std::size_t end) {
    if (stream) {
      StreamRange(first, begin, end, range);
    } else {
      range(begin, first + begin, end - begin);
    }
  });
}

// y[i] = functor(x[i]), each element of x first turned into one of y's type.
template <typename Functor, typename T, typename F>
HOTPLATE_MULTIVERSION static void UnaryRange(Functor functor, const T* __restrict x, F* __restrict y, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = functor(static_cast<F>(x[i]));
}
template <typename Functor, typename T, typename F>
Outcome ElementwiseUnary(CpuContext& context, std::span<const T> x, std::span<F> y, std::size_t serial_below,
                         const Functor& functor) {
  const T* const from = x.data();
  Elementwise(context, y, x.size_bytes(), serial_below,
              [=](std::size_t begin, F* to, std::size_t count) { UnaryRange(functor, from + begin, to, count); });
  return Outcome::Ok();
}

// to[i] = at(place) for the places [begin, begin + count) of an output, as float64. Works in pieces whose places fit an
// int, which converts faster than a 64-bit integer. For a HOTPLATE_MULTIVERSION function.
template <typename T, typename At>
HOTPLATE_INLINE void EachPlace(std::size_t begin, T* __restrict to, std::size_t count, At at) {
  constexpr std::size_t kPiece = 1024;
  for (std::size_t piece = 0; piece < count; piece += kPiece) {
    const int most = static_cast<int>(std::min(kPiece, count - piece));
    const double first = static_cast<double>(begin + piece);
    T* const out = to + piece;
#pragma omp simd
    for (int i = 0; i < most; ++i) out[i] = at(first + static_cast<double>(i));
  }
}

// to[i] = functor(one of a, one of b) for the output's elements from `begin` on, line by line. What comes before a
// long line's first whole cache line is a piece of its own: wide stores would each touch two.
template <typename F, typename T>
HOTPLATE_INLINE void BroadcastRange(const F& functor, const Broadcast& shape, const T* a, const T* b, std::size_t begin,
                                    T* __restrict to, std::size_t count) {
  constexpr std::size_t kCacheLine = 64 / sizeof(T);
  const Broadcast::Axis inner = shape.axes[0];
  std::size_t line = begin / inner.size, at = begin % inner.size;
  for (std::size_t length; count > 0; count -= length, to += length, at += length) {
    if (at == inner.size) ++line, at = 0;
    const std::size_t to_cache_line = kCacheLine - reinterpret_cast<std::uintptr_t>(to) / sizeof(T) % kCacheLine;
    length = std::min<std::size_t>(inner.size - at, count);
    if (to_cache_line < kCacheLine && length > 16 * kCacheLine) length = to_cache_line;
    const Broadcast::Place place = shape.Line(line);
    const T* const left = a + place.a + at * inner.a_step;
    const T* const right = b + place.b + at * inner.b_step;
    if (inner.a_step == 0) {
      const T repeated = *left;
#pragma omp simd
      for (std::size_t i = 0; i < length; ++i) to[i] = functor(repeated, right[i]);
    } else if (inner.b_step == 0) {
      const T repeated = *right;
#pragma omp simd
      for (std::size_t i = 0; i < length; ++i) to[i] = functor(left[i], repeated);
    } else {
#pragma omp simd
      for (std::size_t i = 0; i < length; ++i) to[i] = functor(left[i], right[i]);
    }
  }
}

}  // namespace hotplate
