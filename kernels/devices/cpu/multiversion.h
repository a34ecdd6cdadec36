// HOTPLATE_MULTIVERSION before a free function compiles it for AVX-512, AVX2 and the baseline, and picks one when the
// program is loaded. Not under sanitizers: their run-time is not up yet when the choice is made. What such a function
// calls must be inlined into it (HOTPLATE_INLINE), or it stays at the baseline.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(HOTPLATE_SANITIZED)
#define HOTPLATE_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HOTPLATE_MULTIVERSION
#endif

#define HOTPLATE_INLINE __attribute__((always_inline)) inline
