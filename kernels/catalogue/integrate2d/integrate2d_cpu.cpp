// Each row has one x; rows are handed to the threads in chunks. The rows' sums go to scratch and are added in order at
// the end, so that the result does not depend on the threads.
#include <cmath>

#include "kernels/catalogue/integrate2d/integrate2d.h"
#include "kernels/catalogue/integrate2d/integrate2d_functor.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/multiversion.h"
#include "kernels/devices/device.h"
#include "kernels/families/elementwise_math.h"

namespace hotplate::integrate2d {
namespace {

// Sines to a chunk: some 50 microseconds on one thread. A row is never divided; the longest takes some 10 ms.
constexpr std::size_t kChunkPoints = 131'072;

// Columns between two looks at the cancel flag: some milliseconds on one thread. Fewer than kSerialColumns are left to
// it.
constexpr std::size_t kColumnsAtOnce = 1 << 20, kSerialColumns = 1 << 15;

// Scratch: n row sums, then n columns.
struct Scratch {
  double* row_sums;
  float* columns;
};

Scratch ScratchOf(const Call& call, std::size_t n) {
  std::byte* start = call.scratch().data();
  return {reinterpret_cast<double*>(start), reinterpret_cast<float*>(start + n * sizeof(double))};
}

HOTPLATE_MULTIVERSION void FillColumns(float* columns, std::size_t begin, std::size_t end, std::size_t n, double y_min,
                                       double y_max) {
#pragma omp simd
  for (std::size_t j = begin; j < end; ++j) {
    columns[j] = ReducedMidpoint(static_cast<std::int64_t>(j), static_cast<std::int64_t>(n), y_min, y_max);
  }
}

HOTPLATE_MULTIVERSION double RowSum(float x, const float* columns, std::size_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(math::Sin(x + columns[j]));
  return sum;
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  return {.scratch_bytes = static_cast<std::uint64_t>(call.Int("n")) * (sizeof(double) + sizeof(float))};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  const std::int64_t n = call.Int("n");
  const std::size_t count = static_cast<std::size_t>(n);
  const double x_min = call.Float("x_min"), x_max = call.Float("x_max");
  const double y_min = call.Float("y_min"), y_max = call.Float("y_max");
  const Scratch scratch = ScratchOf(call, count);

  for (std::size_t first = 0; first < count; first += kColumnsAtOnce) {
    if (context.cancelled()) return Outcome::Cancelled();
    const std::size_t some = std::min(kColumnsAtOnce, count - first);
    context.ParallelFor(some, kSerialColumns, [=](std::size_t begin, std::size_t end) {
      FillColumns(scratch.columns, first + begin, first + end, count, y_min, y_max);
    });
  }
  const bool complete = context.ParallelChunks(
      count, std::max<std::size_t>(1, kChunkPoints / count), [=](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const float x = ReducedMidpoint(static_cast<std::int64_t>(i), n, x_min, x_max);
          scratch.row_sums[i] = RowSum(x, scratch.columns, count);
        }
      });
  if (!complete) return Outcome::Cancelled();

  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += scratch.row_sums[i];
  const double value = sum * CellArea(n, x_min, x_max, y_min, y_max);
  call.Output<double>("value")[0] = value;
  call.Output<double>("error")[0] = std::fabs(value - ExactIntegral(x_min, x_max, y_min, y_max));
  return Outcome::Ok();
}

}  // namespace hotplate::integrate2d
