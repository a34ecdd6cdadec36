// Sine, expm1 and pow for functors that both back-ends compile. On the device these are CUDA's own. On the host they
// are libm's functions declared with GCC's vector ABI, so that a loop over them becomes calls into libmvec without
// -ffast-math; a program that uses them links -lmvec. libmvec's bound is 4 ulp.
#pragma once

#include <cmath>

#include "kernels/call/host_device.h"

#if !defined(__CUDACC__) && defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define HOTPLATE_VECTOR_MATH __attribute__((simd("notinbranch"), const, nothrow, leaf))
extern "C" {
HOTPLATE_VECTOR_MATH float hotplate_vector_sinf(float) __asm__("sinf");
HOTPLATE_VECTOR_MATH float hotplate_vector_expm1f(float) __asm__("expm1f");
HOTPLATE_VECTOR_MATH double hotplate_vector_sin(double) __asm__("sin");
HOTPLATE_VECTOR_MATH double hotplate_vector_expm1(double) __asm__("expm1");
HOTPLATE_VECTOR_MATH double hotplate_vector_pow(double, double) __asm__("pow");
}
#undef HOTPLATE_VECTOR_MATH

namespace hotplate::math {
inline float Sin(float x) { return hotplate_vector_sinf(x); }
inline float Expm1(float x) { return hotplate_vector_expm1f(x); }
inline double Sin(double x) { return hotplate_vector_sin(x); }
inline double Expm1(double x) { return hotplate_vector_expm1(x); }
inline double Pow(double x, double y) { return hotplate_vector_pow(x, y); }
}  // namespace hotplate::math

#else

namespace hotplate::math {
HOTPLATE_HOST_DEVICE inline float Sin(float x) { return ::sinf(x); }
HOTPLATE_HOST_DEVICE inline float Expm1(float x) { return ::expm1f(x); }
HOTPLATE_HOST_DEVICE inline double Sin(double x) { return ::sin(x); }
HOTPLATE_HOST_DEVICE inline double Expm1(double x) { return ::expm1(x); }
HOTPLATE_HOST_DEVICE inline double Pow(double x, double y) { return ::pow(x, y); }
}  // namespace hotplate::math

#endif
