// How elementwise kernels write their output: in place while it fits the caches, past them when it does not. A store
// past the caches does not first read what it overwrites: a third of vector_add's traffic, 1.4 times its speed.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/multiversion.h"

namespace hotplate {

// Outputs from this size on are streamed.
inline constexpr std::size_t kStreamFromBytes = std::size_t{32} << 20;

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

// The whole output, by all threads unless it is shorter than `serial_below`.
template <typename T, typename Range>
void Elementwise(CpuContext& context, std::span<T> out, std::size_t serial_below, const Range& range) {
  const bool stream = out.size_bytes() >= kStreamFromBytes;
  T* const first = out.data();
  context.ParallelFor(out.size(), serial_below, [=](std::size_t begin, std::size_t end) {
    if (stream) {
      StreamRange(first, begin, end, range);
    } else {
      range(begin, first + begin, end - begin);
    }
  });
}

}  // namespace hotplate
