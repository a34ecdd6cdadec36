// Loops made of functions of one element. For the files that hold the loops.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/catalogue/expression/cpu/loops.h"
#include "kernels/devices/cpu/multiversion.h"

namespace hotplate::expression {

// A function that returns bool makes Truth.
template <typename R>
using Stored = std::conditional_t<std::is_same_v<R, bool>, Truth, R>;

// `out` may be `a`: then each element is read before it is written, in any order of the elements.
template <typename F, typename R, typename T>
HOTPLATE_INLINE void UnaryBody(void* out, const void* a, std::size_t n) {
  Stored<R>* const to = static_cast<Stored<R>*>(out);
  const T* const x = static_cast<const T*>(a);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<Stored<R>>(F{}(x[i]));
}
template <typename F, typename R, typename T>
HOTPLATE_INLINE void BinaryBody(void* out, const void* a, const void* b, std::size_t n) {
  Stored<R>* const to = static_cast<Stored<R>*>(out);
  const T* const x = static_cast<const T*>(a);
  const T* const y = static_cast<const T*>(b);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<Stored<R>>(F{}(x[i], y[i]));
}

template <typename F, typename R, typename T>
HOTPLATE_MULTIVERSION static void WideUnary(void* out, const void* a, const void*, const void*, std::size_t n) {
  UnaryBody<F, R, T>(out, a, n);
}
template <typename F, typename R, typename T>
HOTPLATE_MULTIVERSION static void WideBinary(void* out, const void* a, const void* b, const void*, std::size_t n) {
  BinaryBody<F, R, T>(out, a, b, n);
}
template <typename F, typename R, typename T>
static void PlainUnary(void* out, const void* a, const void*, const void*, std::size_t n) {
  UnaryBody<F, R, T>(out, a, n);
}
template <typename F, typename R, typename T>
static void PlainBinary(void* out, const void* a, const void* b, const void*, std::size_t n) {
  BinaryBody<F, R, T>(out, a, b, n);
}

// The loop of a lambda of one T, or of two: for each of the processor's vector widths, or for the baseline alone.
template <typename T, typename F>
Loop Wide(F) {
  if constexpr (std::is_invocable_v<F, T>) {
    return &WideUnary<F, std::invoke_result_t<F, T>, T>;
  } else {
    return &WideBinary<F, std::invoke_result_t<F, T, T>, T>;
  }
}
template <typename T, typename F>
Loop Plain(F) {
  if constexpr (std::is_invocable_v<F, T>) {
    return &PlainUnary<F, std::invoke_result_t<F, T>, T>;
  } else {
    return &PlainBinary<F, std::invoke_result_t<F, T, T>, T>;
  }
}

}  // namespace hotplate::expression
