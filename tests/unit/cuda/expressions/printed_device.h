// CUDA's dialect for the host's compiler, before a printed expression (kernels/expression/cuda_text.h): what NVRTC has
// built in and the text calls. Its threads are those of tests/unit/cuda/emulation/grid.h, in the program that loads it.
#include <math.h>
#include <string.h>

// NOLINTBEGIN(bugprone-reserved-identifier): the dialect's own names.
#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __shared__ static
#define __launch_bounds__(...)

struct EmulatedIndex {
  unsigned x, y, z;
};
#ifdef HOTPLATE_THREADS_OF_THE_HOST  // tests/fakes/cuda/compile_for_host.py
extern thread_local EmulatedIndex threadIdx, blockIdx, gridDim;
void __syncthreads();
#else
extern EmulatedIndex threadIdx, blockIdx, gridDim;
extern "C" void hotplate_emulated_barrier();
inline void __syncthreads() { hotplate_emulated_barrier(); }
#endif

template <typename To, typename From>
To BitsAs(From from) {
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
inline float __int_as_float(int bits) { return BitsAs<float>(bits); }
inline float __uint_as_float(unsigned bits) { return BitsAs<float>(bits); }
inline unsigned __float_as_uint(float number) { return BitsAs<unsigned>(number); }
inline double __longlong_as_double(long long bits) { return BitsAs<double>(bits); }
inline unsigned long long atomicMin(unsigned long long* memory, unsigned long long value) {
  unsigned long long before = __atomic_load_n(memory, __ATOMIC_RELAXED);
  while (value < before &&
         !__atomic_compare_exchange_n(memory, &before, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return before;
}
// NOLINTEND(bugprone-reserved-identifier)
