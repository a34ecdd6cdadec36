// Three ways to add up n * n sines, each of which is evaluated:
//   naive   a thread to each x, looping over y; its sum goes to global memory
//   shared  the same, and blocks of 16 threads add theirs in shared memory first
//   fast    tiles of points over a grid that fills the device, y in shared memory, sums in registers
// Coordinates are reduced once and kept in the scratch. One block adds the partial sums at the end, in an order that
// depends only on n and the device.
#include "kernels/catalogue/integrate2d/integrate2d.h"
#include "kernels/catalogue/integrate2d/integrate2d_cuda.h"
#include "kernels/catalogue/integrate2d/integrate2d_functor.h"
#include "kernels/devices/cuda/code/launch.h"

namespace hotplate::integrate2d {
namespace {

struct Square {
  std::int64_t n;
  double x_min, x_max, y_min, y_max;
};

// In half turns for `fast`, else in radians.
__global__ void __launch_bounds__(kBlockSize) Coordinates(Square square, bool half_turns, float* xs, float* ys) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kBlockSize;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kBlockSize + threadIdx.x; i < square.n; i += stride) {
    xs[i] = half_turns ? HalfTurns(i, square.n, square.x_min, square.x_max)
                       : ReducedMidpoint(i, square.n, square.x_min, square.x_max);
    ys[i] = half_turns ? HalfTurns(i, square.n, square.y_min, square.y_max)
                       : ReducedMidpoint(i, square.n, square.y_min, square.y_max);
  }
}

__device__ double ColumnSum(float x, const float* ys, std::int64_t begin, std::int64_t end) {
  double sum = 0;
  for (std::int64_t j = begin; j < end; ++j) sum += sinf(x + ys[j]);
  return sum;
}

__global__ void __launch_bounds__(kBlockSize)
    Naive(std::int64_t n, const float* xs, const float* ys, std::int64_t begin, std::int64_t end, double* partials) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kBlockSize + threadIdx.x;
  if (i < n) partials[i] += ColumnSum(xs[i], ys, begin, end);
}

__global__ void __launch_bounds__(kSharedBlock)
    Shared(std::int64_t n, const float* xs, const float* ys, std::int64_t begin, std::int64_t end, double* partials) {
  __shared__ double sums[kSharedBlock];
  const std::int64_t i = std::int64_t{blockIdx.x} * kSharedBlock + threadIdx.x;
  sums[threadIdx.x] = i < n ? ColumnSum(xs[i], ys, begin, end) : 0.0;
  for (unsigned half = kSharedBlock / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) partials[blockIdx.x] += sums[0];
}

// The sum over the block's threads, in thread 0.
__device__ double BlockSum(double sum) {
  __shared__ double warps[kBlockSize / 32];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kBlockSize / 32; ++warp) sum += warps[warp];
  }
  return sum;
}

// Adds `rows` of y of a tile to the sums of a thread's columns, one double each.
template <typename Reduction>
__device__ __forceinline__ void AddColumns(const float (&x)[kColumns], const float* y, int rows, Reduction reduce,
                                           double (&sums)[kColumns]) {
  int row = 0;
  for (; row + kGroup <= rows; row += kGroup) {
    float group[kGroup];
#pragma unroll
    for (int i = 0; i < kGroup; ++i) group[i] = y[row + i];
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      sums[column] += PairwiseSines<kGroup>(x[column], group, reduce);
    }
  }
#pragma unroll 1
  for (; row < rows; ++row) {
#pragma unroll
    for (int column = 0; column < kColumns; ++column) sums[column] += Sine(x[column] + y[row], reduce);
  }
}

// Tiles [begin, end): block b has begin + b, begin + b + grid, …
__global__ void __launch_bounds__(kBlockSize, kBlocksPerMultiprocessor)
    Fast(Tiles tiles, bool narrow, const float* xs, const float* ys, std::uint64_t begin, std::uint64_t end,
         double* partials) {
  alignas(16) __shared__ float y[kTileY];
  static_assert(kTileY <= kBlockSize, "a thread fetches one y");
  double sum = 0;
  for (std::uint64_t tile = begin + blockIdx.x; tile < end; tile += gridDim.x) {
    const std::uint64_t first_x = tiles.FirstX(tile), first_y = tiles.FirstY(tile);
    const int rows = tiles.Rows(tile), columns = tiles.Columns(tile);
    const SharedHalfTurn turn = HalfTurnOf(xs[first_x], xs[first_x + static_cast<unsigned>(columns) - 1], ys[first_y],
                                           ys[first_y + static_cast<unsigned>(rows) - 1], narrow);
    __syncthreads();  // the tile before has been read
    if (static_cast<int>(threadIdx.x) < rows) {
      const float mine = ys[first_y + threadIdx.x];
      y[threadIdx.x] = turn.shared ? turn.OfY(mine) : mine;
    }
    __syncthreads();
    float x[kColumns];
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      const int i = column * kBlockSize + static_cast<int>(threadIdx.x);
      const float mine = i < columns ? xs[first_x + static_cast<unsigned>(i)] : 0.0f;
      x[column] = turn.shared ? turn.OfX(mine) : mine;
    }
    double sums[kColumns] = {};
    if (turn.shared) {
      AddColumns(x, y, rows, IsReduced(), sums);
    } else {
      AddColumns(x, y, rows, Reduce(), sums);
    }
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      if (column * kBlockSize + static_cast<int>(threadIdx.x) < columns) sum += sums[column];
    }
  }
  const double block_sum = BlockSum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] += block_sum;
}

__global__ void __launch_bounds__(kBlockSize)
    Finish(Square square, const double* partials, std::uint64_t count, double* value, double* error) {
  double sum = 0;
  for (std::uint64_t i = threadIdx.x; i < count; i += kBlockSize) sum += partials[i];
  sum = BlockSum(sum);
  if (threadIdx.x != 0) return;
  const double integral = sum * CellArea(square.n, square.x_min, square.x_max, square.y_min, square.y_max);
  *value = integral;
  *error = fabs(integral - ExactIntegral(square.x_min, square.x_max, square.y_min, square.y_max));
}

Variant VariantOf(const Call& call) {
  const std::string_view name = call.Choice("variant");
  return name == "naive" ? Variant::kNaive : name == "shared" ? Variant::kShared : Variant::kFast;
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits) {
  return LayOutScratch(static_cast<std::uint64_t>(call.Int("n")), VariantOf(call), traits).bytes;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  const Square square{call.Int("n"), call.Float("x_min"), call.Float("x_max"), call.Float("y_min"),
                      call.Float("y_max")};
  const auto n = static_cast<std::uint64_t>(square.n);
  const Variant variant = VariantOf(call);
  const ScratchLayout layout = LayOutScratch(n, variant, context.traits());
  std::byte* const scratch = call.scratch().data();
  float* const xs = reinterpret_cast<float*>(scratch);
  float* const ys = reinterpret_cast<float*>(scratch + layout.ys);
  double* const partials = reinterpret_cast<double*>(scratch + layout.partials);
  const cudaStream_t stream = context.stream();

  // All bits zero is 0.0.
  const std::size_t partial_bytes = layout.partial_count * sizeof(double);
  if (const Outcome o = ToOutcome(cudaMemsetAsync(partials, 0, partial_bytes, stream), "memset"); !o.ok()) return o;
  const Outcome placed =
      Launch(context, Coordinates, GridFor(n), kBlockSize, square, variant == Variant::kFast, xs, ys);
  if (!placed.ok()) return placed;

  const Tiles tiles{n};
  const std::uint64_t blocks = FastBlocks(tiles, context.traits());
  const bool narrow = Narrow(n, square.x_min, square.x_max, square.y_min, square.y_max);
  const Chunks chunks =
      variant == Variant::kFast ? FastChunks(tiles, context.traits()) : ColumnChunks(n, context.traits());
  const Outcome summed = context.InChunks(chunks, [&](std::uint64_t begin, std::uint64_t end) {
    const auto first = static_cast<std::int64_t>(begin), last = static_cast<std::int64_t>(end);
    switch (variant) {
      case Variant::kNaive:
        return Launch(context, Naive, GridFor(n), kBlockSize, square.n, xs, ys, first, last, partials);
      case Variant::kShared:
        return Launch(context, Shared, GridFor(n, 1, kSharedBlock), kSharedBlock, square.n, xs, ys, first, last,
                      partials);
      default:
        return Launch(context, Fast, blocks, kBlockSize, tiles, narrow, xs, ys, begin, end, partials);
    }
  });
  if (!summed.ok()) return summed;
  return Launch(context, Finish, 1, kBlockSize, square, partials, layout.partial_count,
                call.Output<double>("value").data(), call.Output<double>("error").data());
}

}  // namespace hotplate::integrate2d
