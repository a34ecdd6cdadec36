// In the place of kernels/devices/cuda/code/launch.h: CUDA's dialect for the host's compiler, with kernels run by
// emulation::RunGrid at once. What of the CUDA runtime the kernels call is a line of the C library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>
#include <tuple>

#include "kernels/devices/cuda/executor/context.h"
#include "tests/unit/cuda/emulation/grid.h"

// NOLINTBEGIN(bugprone-reserved-identifier): the dialect's own names.
#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __launch_bounds__(...)

using cudaStream_t = CUstream_st*;
using cudaError_t = int;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };

inline cudaError_t cudaMemsetAsync(void* memory, int byte, std::size_t bytes, cudaStream_t) {
  std::memset(memory, byte, bytes);
  return 0;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return 0;
}

inline void __syncthreads() { hotplate::emulation::WaitForBlock("barrier", false); }
inline int __syncthreads_or(int predicate) {
  return hotplate::emulation::WaitForBlock("barrier with or", predicate != 0);
}
inline void __syncwarp() { hotplate::emulation::WaitForWarp("syncwarp", 0xffffffff, 0); }
inline unsigned __ballot_sync(unsigned mask, bool predicate) {
  const hotplate::emulation::Exchanged& all = hotplate::emulation::WaitForWarp("ballot", mask, predicate);
  unsigned bits = 0;
  for (unsigned lane = 0; lane < hotplate::emulation::kLanes; ++lane) bits |= static_cast<unsigned>(all[lane]) << lane;
  return bits;
}
inline bool __any_sync(unsigned mask, bool predicate) { return __ballot_sync(mask, predicate) != 0; }
// The lanes whose value is the same.
template <typename T>
unsigned __match_any_sync(unsigned mask, T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  const hotplate::emulation::Exchanged& all = hotplate::emulation::WaitForWarp("match", mask, bits);
  unsigned same = 0;
  for (unsigned lane = 0; lane < hotplate::emulation::kLanes; ++lane) {
    same |= static_cast<unsigned>(all[lane] == bits) << lane;
  }
  return same;
}
template <typename T>
T __shfl_sync(unsigned mask, T value, unsigned lane) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = hotplate::emulation::WaitForWarp("shuffle", mask, bits)[lane];
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by) {
  const unsigned from = threadIdx.x % hotplate::emulation::kLanes + by;
  return __shfl_sync(mask, value, from < hotplate::emulation::kLanes ? from : from - by);
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
template <typename T>
T atomicAdd(T* memory, T value) {
  const T before = *memory;
  *memory += value;
  return before;
}
template <typename T>
T atomicOr(T* memory, T value) {
  const T before = *memory;
  *memory |= value;
  return before;
}
template <typename T>
T atomicMin(T* memory, T value) {
  const T before = *memory;
  *memory = std::min(before, value);
  return before;
}
template <typename T>
T atomicMax(T* memory, T value) {
  const T before = *memory;
  *memory = std::max(before, value);
  return before;
}
inline unsigned long long min(unsigned long long a, unsigned long long b) { return std::min(a, b); }

namespace hotplate::emulation {

// The emulated lane's. Nothing is behind it; libraries refuse to work on another.
inline cudaStream_t LaneStream() {
  static char place;
  return reinterpret_cast<cudaStream_t>(&place);
}

}  // namespace hotplate::emulation

namespace hotplate {

inline Outcome ToOutcome(cudaError_t error, std::string_view what) {
  return error == 0 ? Outcome::Ok() : Outcome::Failed(what);
}

template <typename... Parameters, typename... Arguments>
Outcome Launch(CudaContext&, void (*kernel)(Parameters...), std::uint64_t blocks, int threads,
               const Arguments&... arguments) {
  if (blocks == 0 || blocks > kMaxGrid || threads < 1 || threads > 1024) return Outcome::Failed("launch: invalid");
  const std::tuple<Parameters...> converted(arguments...);
  emulation::RunGrid(static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
                     [&] { std::apply(kernel, converted); });
  return Outcome::Ok();
}

}  // namespace hotplate
// NOLINTEND(bugprone-reserved-identifier)
