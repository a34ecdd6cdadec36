// How the CUDA kernel of mandelbrot follows orbits and cuts its work. The cost of points differs by up to a factor of
// max_iterations, and one point may take seconds. So every thread takes the next point when its own is finished, and a
// launch is one slice of iterations, after which the threads' orbits are saved for the next launch. Plain code, tested
// without a GPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/call/call.h"
#include "kernels/call/host_device.h"
#include "kernels/catalogue/mandelbrot/mandelbrot_functor.h"
#include "kernels/devices/cuda/code/grid.h"
#include "kernels/devices/cuda/code/traits.h"

namespace hotplate::mandelbrot {

// The orbit of 2z with 2c, which is exact in binary and saves an operation: with x and y of 2z,
//   (2z)^2 / 2 + 2c = (x^2 + y^2) / 2 - y^2 + 2 Re c  +  i (x y + 2 Im c),
// and x^2 + y^2 decides |z| < 2. Five operations in float64.
struct Orbit {
  double x = 0, y = 0;
  double c_real = 0, c_imaginary = 0;  // of 2c
  std::int32_t count = 0;
};

// A point's state: z starts at c.
HOTPLATE_HOST_DEVICE inline Orbit OrbitOf(double c_real, double c_imaginary) {
  Orbit orbit;
  orbit.x = orbit.c_real = 2 * c_real;
  orbit.y = orbit.c_imaginary = 2 * c_imaginary;
  return orbit;
}

// |z| < 2, from the square of |2z|. By its bits, which an integer unit compares: a NaN is above every number then.
HOTPLATE_HOST_DEVICE inline bool Inside(double square) {
  constexpr std::uint32_t kSixteen = 0x40300000;  // the upper half of 16.0
  std::uint64_t bits;
  std::memcpy(&bits, &square, sizeof bits);
  return static_cast<std::uint32_t>(bits >> 32) < kSixteen;
}

// One iteration; false, and nothing done, if the point is not inside any more.
HOTPLATE_HOST_DEVICE inline bool Iterate(Orbit& orbit) {
  const double yy = orbit.y * orbit.y, square = fma(orbit.x, orbit.x, yy);
  if (!Inside(square)) return false;
  orbit.y = fma(orbit.x, orbit.y, orbit.c_imaginary);
  orbit.x = fma(0.5, square, orbit.c_real - yy);
  return true;
}

// Up to `steps` iterations more. True when the orbit is finished: count is final.
HOTPLATE_HOST_DEVICE inline bool Advance(Orbit& orbit, std::int32_t max_iterations, std::int32_t steps) {
  constexpr std::int32_t kUnrolled = 4;
  const std::int32_t left = max_iterations - orbit.count, most = steps < left ? steps : left;
  std::int32_t done = 0;
  for (; most - done >= kUnrolled; done += kUnrolled) {
    for (std::int32_t i = 0; i < kUnrolled; ++i) {
      if (!Iterate(orbit)) {
        orbit.count += done + i;
        return true;
      }
    }
  }
  for (; done < most; ++done) {
    if (!Iterate(orbit)) {
      orbit.count += done;
      return true;
    }
  }
  orbit.count += done;
  return orbit.count >= max_iterations;
}

// Iterations between two looks at whether threads need new points, and how many threads of a warp must need one before
// all of them stop for it: neighbouring points mostly end together.
inline constexpr std::int32_t kStep = 16;
inline constexpr int kIdleThreads = 8;

// Points that a warp takes at a time: fewer towards the end, so that all end at about the same time.
inline constexpr unsigned long long kMostPoints = 256, kFewestPoints = 32;
HOTPLATE_HOST_DEVICE inline unsigned long long PointsToTake(unsigned long long left, unsigned long long warps) {
  const unsigned long long share = left / (8 * warps);
  return share < kFewestPoints ? kFewestPoints : share < kMostPoints ? share : kMostPoints;
}

struct Slices {
  std::uint64_t threads = 0;  // a multiple of kBlockSize
  std::uint32_t rounds = 1;   // of kStep iterations each, a thread and slice
  std::uint64_t blocks() const { return threads / kBlockSize; }
  std::uint64_t warps() const { return threads / 32; }
};

// As many threads as every supported device holds at the same time.
inline constexpr int kThreadsPerMultiprocessor = 1024;

// A slice takes some tens of milliseconds at most, by the device's estimated rate.
inline Slices SlicesFor(std::uint64_t points, const CudaTraits& traits) {
  constexpr double kSliceMs = 30, kOperations = 8, kLatencyCycles = 40;  // of one iteration
  Slices slices;
  const std::uint64_t resident =
      std::uint64_t{kThreadsPerMultiprocessor} * static_cast<std::uint64_t>(traits.multiprocessors);
  slices.threads = RoundUp(std::clamp<std::uint64_t>(points, 1, resident), kBlockSize);
  const double cycles_bound = kSliceMs * traits.cycles_per_ms / kLatencyCycles;
  const double rate_bound =
      kSliceMs * traits.double_operations_per_ms / (kOperations * static_cast<double>(slices.threads));
  slices.rounds = static_cast<std::uint32_t>(std::clamp(std::min(cycles_bound, rate_bound) / kStep, 1.0, 1e6));
  return slices;
}

// Offsets in the scratch: two counters, then a row for each thread in four arrays and for each warp in two. A thread
// without a point has the count -1.
struct ScratchLayout {
  std::uint64_t next = 0, end = 0, x = 0, y = 0, point = 0, count = 0, bytes = 0;
};

inline ScratchLayout LayOutScratch(const Slices& slices) {
  ScratchLayout layout;
  layout.next = kArenaAlignment;
  layout.end = layout.next + slices.warps() * sizeof(std::uint64_t);
  layout.x = layout.end + slices.warps() * sizeof(std::uint64_t);
  layout.y = layout.x + slices.threads * sizeof(double);
  layout.point = layout.y + slices.threads * sizeof(double);
  layout.count = layout.point + slices.threads * sizeof(std::uint32_t);
  layout.bytes = layout.count + slices.threads * sizeof(std::int32_t);
  return layout;
}

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits);

}  // namespace hotplate::mandelbrot
