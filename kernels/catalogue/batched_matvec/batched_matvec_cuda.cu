#include <bit>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/batched_matvec/batched_matvec.h"
#include "kernels/devices/cuda/code/launch.h"

namespace hotplate::batched_matvec {
namespace {

constexpr unsigned kAll = 0xffffffff, kWarp = 32;

// Vectors that a warp multiplies by a row of the matrix while it reads it once, at most; and elements of the row that
// each of its threads has in flight.
constexpr int kMostTogether = 8, kLoads = 4;

struct Sizes {
  std::uint64_t batch, m, k;
  std::uint64_t step;  // elements from one vector's matrix to the next one's; 0: they share it
};

// A warp to each row and each `kVectors` vectors, in strides of the grid. With more than one the matrix is shared.
template <typename T, int kVectors>
__global__ void __launch_bounds__(kBlockSize) Products(const T* a, const T* x, T* y, Sizes sizes) {
  const unsigned lane = threadIdx.x % kWarp;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (kBlockSize / kWarp);
  const std::uint64_t groups = (sizes.batch + kVectors - 1) / kVectors;
  for (std::uint64_t task = std::uint64_t{blockIdx.x} * (kBlockSize / kWarp) + threadIdx.x / kWarp;
       task < sizes.m * groups; task += warps) {
    const std::uint64_t first = task / sizes.m * kVectors, row = task % sizes.m;
    const T* matrix = a + first * sizes.step + row * sizes.k + lane;
    const T* vectors[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      // The sums past the last vector are not read.
      vectors[v] = x + (first + v < sizes.batch ? first + v : first) * sizes.k + lane;
    }
    T sums[kVectors] = {};
    for (std::uint64_t i = lane; i < sizes.k; i += kLoads * kWarp) {
      T elements[kLoads] = {};
#pragma unroll
      for (int u = 0; u < kLoads; ++u) {
        if (i + u * kWarp < sizes.k) elements[u] = matrix[u * kWarp];
      }
#pragma unroll
      for (int u = 0; u < kLoads; ++u) {
        if (i + u * kWarp >= sizes.k) break;
#pragma unroll
        for (int v = 0; v < kVectors; ++v) sums[v] += elements[u] * vectors[v][u * kWarp];
      }
      matrix += kLoads * kWarp;
#pragma unroll
      for (int v = 0; v < kVectors; ++v) vectors[v] += kLoads * kWarp;
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      for (unsigned offset = kWarp / 2; offset > 0; offset /= 2) sums[v] += __shfl_down_sync(kAll, sums[v], offset);
      if (lane == 0 && first + v < sizes.batch) y[(first + v) * sizes.m + row] = sums[v];
    }
  }
}

// The kernel for this many vectors together, a power of two.
template <typename T>
auto ProductsFor(std::uint64_t together) {
  return together == 1   ? Products<T, 1>
         : together == 2 ? Products<T, 2>
         : together == 4 ? Products<T, 4>
                         : Products<T, kMostTogether>;
}

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const hotplate_array &a = call.InputArray("a"), &y = call.OutputArray("y");
  const auto size = [](std::int64_t side) { return static_cast<std::uint64_t>(side); };
  Sizes sizes{.batch = size(y.shape[0]), .m = size(y.shape[1]), .k = size(call.InputArray("x").shape[1]), .step = 0};
  if (y.bytes == 0) return Outcome::Ok();
  const bool shared = a.rank == 2;
  if (!shared) sizes.step = sizes.m * sizes.k;
  const std::uint64_t together = shared ? std::min<std::uint64_t>(std::bit_ceil(sizes.batch), kMostTogether) : 1;
  const std::uint64_t tasks = sizes.m * CeilDiv(sizes.batch, together);
  return Launch(context, ProductsFor<T>(together), GridFor(tasks, 1, kBlockSize / kWarp), kBlockSize,
                call.Input<T>("a").data(), call.Input<T>("x").data(), call.Output<T>("y").data(), sizes);
}

}  // namespace

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double>("batched_matvec", call.InputType("a"),
                                [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::batched_matvec
