// How the CUDA kernel of mandelbrot cuts its work. Points differ by a factor of max_iterations in what they cost, and
// one alone may take seconds: so every thread takes the next point whenever its own is finished, and a launch is one
// slice of iterations, after which the threads' orbits are saved for the next launch. Plain code, tested without a GPU.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/call.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/traits.h"
#include "kernels/host_device.h"
#include "kernels/mandelbrot/mandelbrot_functor.h"

namespace hotplate::mandelbrot {

struct Orbit {
  double x = 0, y = 0;
  double c_real = 0, c_imaginary = 0;
  std::int32_t count = 0;
};

// Up to `steps` iterations more, with the arithmetic of Count. True when the orbit is finished: count is final. This
// one comparison decides, and no second one elsewhere: rounded otherwise by another contraction into fused operations,
// the two could disagree about a point for ever.
HOTPLATE_HOST_DEVICE inline bool Advance(Orbit& orbit, std::int32_t max_iterations, int steps) {
  double x = orbit.x, y = orbit.y;
  std::int32_t count = orbit.count;
  bool inside = true;
  for (int step = 0; step < steps && count < max_iterations; ++step) {
    const double xx = x * x, yy = y * y;
    inside = xx + yy < 4;
    if (!inside) break;
    y = 2 * x * y + orbit.c_imaginary;
    x = xx - yy + orbit.c_real;
    ++count;
  }
  orbit.x = x;
  orbit.y = y;
  orbit.count = count;
  return !inside || count >= max_iterations;
}

// Iterations between two looks at whether a thread needs a new point.
inline constexpr int kStep = 32;

struct Slices {
  std::uint64_t threads = 0;  // a multiple of kBlockSize
  std::uint32_t rounds = 1;   // of kStep iterations each, a thread and slice
  std::uint64_t blocks() const { return threads / kBlockSize; }
};

// A slice takes some tens of milliseconds at most, by the device's estimated rate.
inline Slices SlicesFor(std::uint64_t points, const CudaTraits& traits) {
  constexpr double kSliceMs = 30, kOperations = 8, kLatencyCycles = 40;  // of one iteration
  constexpr std::uint64_t kThreadsPerMultiprocessor = 1024;
  Slices slices;
  const std::uint64_t resident = kThreadsPerMultiprocessor * static_cast<std::uint64_t>(traits.multiprocessors);
  slices.threads = RoundUp(std::clamp<std::uint64_t>(points, 1, resident), kBlockSize);
  const double cycles_bound = kSliceMs * traits.cycles_per_ms / kLatencyCycles;
  const double rate_bound =
      kSliceMs * traits.double_operations_per_ms / (kOperations * static_cast<double>(slices.threads));
  slices.rounds = static_cast<std::uint32_t>(std::clamp(std::min(cycles_bound, rate_bound) / kStep, 1.0, 1e6));
  return slices;
}

// Offsets in the scratch: two counters, then a row for each thread in each of four arrays.
struct ScratchLayout {
  std::uint64_t x = 0, y = 0, point = 0, count = 0, bytes = 0;
};

inline ScratchLayout LayOutScratch(std::uint64_t threads) {
  ScratchLayout layout;
  layout.x = kArenaAlignment;
  layout.y = layout.x + threads * sizeof(double);
  layout.point = layout.y + threads * sizeof(double);
  layout.count = layout.point + threads * sizeof(std::uint64_t);
  layout.bytes = layout.count + threads * sizeof(std::int32_t);
  return layout;
}

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

}  // namespace hotplate::mandelbrot
