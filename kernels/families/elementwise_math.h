// Elementary functions for functors that both back-ends compile. On the device these are CUDA's own. On the host they
// are libm's functions declared with GCC's vector ABI, so that a loop over them becomes calls into libmvec without
// -ffast-math; a program that uses them links -lmvec. libmvec's bound is 4 ulp.
#pragma once

#include <cmath>

#include "kernels/call/host_device.h"

// HOTPLATE_MATH_UNARY(Sin, sin) defines math::Sin for float and double.
#if !defined(__CUDACC__) && defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define HOTPLATE_VECTOR_MATH __attribute__((simd("notinbranch"), const, nothrow, leaf))
#define HOTPLATE_MATH_UNARY(Name, name)                                                      \
  extern "C" HOTPLATE_VECTOR_MATH float hotplate_vector_##name##f(float) __asm__(#name "f"); \
  extern "C" HOTPLATE_VECTOR_MATH double hotplate_vector_##name(double) __asm__(#name);      \
  inline float Name(float x) { return hotplate_vector_##name##f(x); }                        \
  inline double Name(double x) { return hotplate_vector_##name(x); }
#define HOTPLATE_MATH_BINARY(Name, name)                                                            \
  extern "C" HOTPLATE_VECTOR_MATH float hotplate_vector_##name##f(float, float) __asm__(#name "f"); \
  extern "C" HOTPLATE_VECTOR_MATH double hotplate_vector_##name(double, double) __asm__(#name);     \
  inline float Name(float x, float y) { return hotplate_vector_##name##f(x, y); }                   \
  inline double Name(double x, double y) { return hotplate_vector_##name(x, y); }
#else
#define HOTPLATE_MATH_UNARY(Name, name)                                    \
  HOTPLATE_HOST_DEVICE inline float Name(float x) { return ::name##f(x); } \
  HOTPLATE_HOST_DEVICE inline double Name(double x) { return ::name(x); }
#define HOTPLATE_MATH_BINARY(Name, name)                                               \
  HOTPLATE_HOST_DEVICE inline float Name(float x, float y) { return ::name##f(x, y); } \
  HOTPLATE_HOST_DEVICE inline double Name(double x, double y) { return ::name(x, y); }
#endif

namespace hotplate::math {

HOTPLATE_MATH_UNARY(Sin, sin)
HOTPLATE_MATH_UNARY(Cos, cos)
HOTPLATE_MATH_UNARY(Tan, tan)
HOTPLATE_MATH_UNARY(Asin, asin)
HOTPLATE_MATH_UNARY(Acos, acos)
HOTPLATE_MATH_UNARY(Atan, atan)
HOTPLATE_MATH_UNARY(Sinh, sinh)
HOTPLATE_MATH_UNARY(Cosh, cosh)
HOTPLATE_MATH_UNARY(Tanh, tanh)
HOTPLATE_MATH_UNARY(Asinh, asinh)
HOTPLATE_MATH_UNARY(Acosh, acosh)
HOTPLATE_MATH_UNARY(Atanh, atanh)
HOTPLATE_MATH_UNARY(Exp, exp)
HOTPLATE_MATH_UNARY(Exp2, exp2)
HOTPLATE_MATH_UNARY(Expm1, expm1)
HOTPLATE_MATH_UNARY(Log, log)
HOTPLATE_MATH_UNARY(Log2, log2)
HOTPLATE_MATH_UNARY(Log10, log10)
HOTPLATE_MATH_UNARY(Log1p, log1p)
HOTPLATE_MATH_UNARY(Cbrt, cbrt)
HOTPLATE_MATH_BINARY(Pow, pow)
HOTPLATE_MATH_BINARY(Atan2, atan2)
HOTPLATE_MATH_BINARY(Hypot, hypot)

}  // namespace hotplate::math

#undef HOTPLATE_MATH_UNARY
#undef HOTPLATE_MATH_BINARY
#undef HOTPLATE_VECTOR_MATH
