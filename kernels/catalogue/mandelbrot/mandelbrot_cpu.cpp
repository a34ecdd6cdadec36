// Groups of consecutive points go through the iteration together, in vector registers, until the last has left or
// reached the limit. Threads take chunks of groups as they become free: points of the set cost most.
#include <atomic>

#include "kernels/catalogue/mandelbrot/mandelbrot.h"
#include "kernels/catalogue/mandelbrot/mandelbrot_functor.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/multiversion.h"

namespace hotplate::mandelbrot {
namespace {

// Four vectors of eight hide the latency of the multiplications.
constexpr std::size_t kLanes = 8, kVectors = 4, kGroup = kLanes * kVectors;
constexpr std::size_t kChunkPoints = 16 * kGroup;
// Iterations between two looks at whether any point is still in, and at the cancel flag.
constexpr std::int64_t kStride = 16, kPollStride = 65'536;

using Vector = double __attribute__((vector_size(kLanes * sizeof(double))));
using Mask = std::int64_t __attribute__((vector_size(kLanes * sizeof(double))));

struct Group {
  Vector c_real[kVectors], c_imaginary[kVectors];
  Vector x[kVectors], y[kVectors];
  Mask inside[kVectors], counts[kVectors];
};

// `iterations` more for every point that is inside; false when none is any more.
HOTPLATE_MULTIVERSION bool Advance(Group& group, std::int64_t iterations) {
  Vector x[kVectors], y[kVectors];
  Mask inside[kVectors], counts[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    x[v] = group.x[v], y[v] = group.y[v], inside[v] = group.inside[v], counts[v] = group.counts[v];
  }
  bool any = true;
  while (any && iterations > 0) {
    const std::int64_t now = iterations < kStride ? iterations : kStride;
    for (std::int64_t i = 0; i < now; ++i) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) {
        const Vector x2 = x[v] * x[v], y2 = y[v] * y[v];
        inside[v] &= (x2 + y2) < 4.0;  // all bits of a lane: once out, out for good
        counts[v] -= inside[v];
        y[v] = (x[v] + x[v]) * y[v] + group.c_imaginary[v];
        x[v] = x2 - y2 + group.c_real[v];
      }
    }
    iterations -= now;
    const Mask left = inside[0] | inside[1] | inside[2] | inside[3];
    std::int64_t bits = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) bits |= left[lane];
    any = bits != 0;
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    group.x[v] = x[v], group.y[v] = y[v], group.inside[v] = inside[v], group.counts[v] = counts[v];
  }
  return any;
}

struct Grid {
  std::int64_t resolution;
  double x_min, x_max, y_min, y_max;
  std::int64_t max_iterations;
};

// Counts for points [begin, end) in C order; at most kGroup. False if cancelled.
bool CountGroup(const Grid& grid, std::size_t begin, std::size_t end, std::int32_t* counts, const CpuContext& context) {
  Group group;
  for (std::size_t i = 0; i < kGroup; ++i) {
    const std::size_t v = i / kLanes, lane = i % kLanes;
    const bool there = begin + i < end;
    const std::int64_t point = static_cast<std::int64_t>(there ? begin + i : begin);
    group.c_real[v][lane] = Coordinate(point % grid.resolution, grid.resolution, grid.x_min, grid.x_max);
    group.c_imaginary[v][lane] = Coordinate(point / grid.resolution, grid.resolution, grid.y_min, grid.y_max);
    group.x[v][lane] = group.c_real[v][lane];
    group.y[v][lane] = group.c_imaginary[v][lane];
    group.inside[v][lane] = there ? -1 : 0;
    group.counts[v][lane] = 0;
  }
  for (std::int64_t done = 0; done < grid.max_iterations; done += kPollStride) {
    if (done != 0 && context.cancelled()) return false;
    if (!Advance(group, std::min(kPollStride, grid.max_iterations - done))) break;
  }
  for (std::size_t i = begin; i < end; ++i) {
    counts[i] = static_cast<std::int32_t>(group.counts[(i - begin) / kLanes][(i - begin) % kLanes]);
  }
  return true;
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  const Grid grid{.resolution = call.Int("resolution"),
                  .x_min = call.Float("x_min"),
                  .x_max = call.Float("x_max"),
                  .y_min = call.Float("y_min"),
                  .y_max = call.Float("y_max"),
                  .max_iterations = call.Int("max_iterations")};
  const std::span<std::int32_t> counts = call.Output<std::int32_t>("counts");
  std::atomic<bool> interrupted{false};
  const bool complete = context.ParallelChunks(counts.size(), kChunkPoints, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += kGroup) {
      if (!CountGroup(grid, i, std::min(end, i + kGroup), counts.data(), context)) interrupted = true;
    }
  });
  return complete && !interrupted ? Outcome::Ok() : Outcome::Cancelled();
}

}  // namespace hotplate::mandelbrot
