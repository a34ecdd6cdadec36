#include "kernels/cuda/context.h"
#include "kernels/mandelbrot/mandelbrot.h"
#include "kernels/mandelbrot/mandelbrot_cuda.h"

namespace hotplate::mandelbrot {
namespace {

constexpr unsigned long long kNoPoint = ~0ULL;
constexpr unsigned kAll = 0xffffffff;

struct Picture {
  double x_min, x_max, y_min, y_max;
  std::int64_t resolution;
  std::int32_t max_iterations;
};

struct Progress {
  unsigned long long taken;     // points that a thread has or had
  unsigned long long finished;  // points whose count is written
};

struct Saved {
  double* x;
  double* y;
  unsigned long long* point;
  std::int32_t* count;
};

__device__ Orbit StartOf(const Picture& picture, unsigned long long point) {
  const std::int64_t row = static_cast<std::int64_t>(point) / picture.resolution;
  const std::int64_t column = static_cast<std::int64_t>(point) - row * picture.resolution;
  Orbit orbit;
  orbit.c_real = Coordinate(column, picture.resolution, picture.x_min, picture.x_max);
  orbit.c_imaginary = Coordinate(row, picture.resolution, picture.y_min, picture.y_max);
  return orbit;
}

// One slice: `rounds` times kStep iterations of the thread's own points.
__global__ void __launch_bounds__(kBlockSize)
    Slice(Picture picture, Progress* progress, Saved saved, std::int32_t* counts, std::uint32_t rounds) {
  const unsigned thread = blockIdx.x * kBlockSize + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  const unsigned long long points =
      static_cast<unsigned long long>(picture.resolution) * static_cast<unsigned long long>(picture.resolution);

  unsigned long long point = saved.point[thread];
  Orbit orbit;
  if (point != kNoPoint) {
    orbit = StartOf(picture, point);
    orbit.x = saved.x[thread];
    orbit.y = saved.y[thread];
    orbit.count = saved.count[thread];
  }
  unsigned finished = 0;
  bool exhausted = false;  // the same in the whole warp
  for (std::uint32_t round = 0; round < rounds; ++round) {
    // The warp's idle threads take the next points together: one atomic for all of them.
    const unsigned idle = __ballot_sync(kAll, point == kNoPoint);
    if (idle != 0 && !exhausted) {
      const unsigned leader = static_cast<unsigned>(__ffs(static_cast<int>(idle))) - 1;
      unsigned long long next = 0;
      if (lane == leader) next = atomicAdd(&progress->taken, __popc(idle));
      next = __shfl_sync(kAll, next, leader);
      exhausted = next >= points;
      next += __popc(idle & ((1u << lane) - 1));
      if (point == kNoPoint && next < points) {
        point = next;
        orbit = StartOf(picture, point);
      }
    }
    if (exhausted && __all_sync(kAll, point == kNoPoint)) break;
    if (point != kNoPoint) {
      if (Advance(orbit, picture.max_iterations, kStep)) {
        counts[point] = orbit.count;
        point = kNoPoint;
        ++finished;
      }
    }
    __syncwarp();
  }
  saved.point[thread] = point;
  if (point != kNoPoint) {
    saved.x[thread] = orbit.x;
    saved.y[thread] = orbit.y;
    saved.count[thread] = orbit.count;
  }
  for (int offset = 16; offset > 0; offset /= 2) finished += __shfl_down_sync(kAll, finished, offset);
  if (lane == 0 && finished > 0) atomicAdd(&progress->finished, finished);
}

std::uint64_t Points(const Call& call) {
  const auto resolution = static_cast<std::uint64_t>(call.Int("resolution"));
  return resolution * resolution;
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits) {
  return LayOutScratch(SlicesFor(Points(call), traits).threads).bytes;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  const Picture picture{call.Float("x_min"),    call.Float("x_max"),
                        call.Float("y_min"),    call.Float("y_max"),
                        call.Int("resolution"), static_cast<std::int32_t>(call.Int("max_iterations"))};
  const std::uint64_t points = Points(call);
  const Slices slices = SlicesFor(points, context.traits());
  const ScratchLayout layout = LayOutScratch(slices.threads);
  std::byte* const scratch = call.scratch().data();
  Progress* const progress = reinterpret_cast<Progress*>(scratch);
  const Saved saved{reinterpret_cast<double*>(scratch + layout.x), reinterpret_cast<double*>(scratch + layout.y),
                    reinterpret_cast<unsigned long long*>(scratch + layout.point),
                    reinterpret_cast<std::int32_t*>(scratch + layout.count)};
  std::int32_t* const counts = call.Output<std::int32_t>("counts").data();

  const cudaStream_t stream = context.stream();
  if (const Outcome o = ToOutcome(cudaMemsetAsync(progress, 0, sizeof *progress, stream), "memset"); !o.ok()) return o;
  // kNoPoint is all ones.
  const std::size_t point_bytes = slices.threads * sizeof *saved.point;
  if (const Outcome o = ToOutcome(cudaMemsetAsync(saved.point, 0xff, point_bytes, stream), "memset"); !o.ok()) return o;

  return context.Pace(
      UINT64_MAX,
      [&](std::uint64_t i) {
        Slice<<<static_cast<unsigned>(slices.blocks()), kBlockSize, 0, stream>>>(picture, progress, saved, counts,
                                                                                 slices.rounds);
        if (const Outcome o = context.LaunchStatus(); !o.ok()) return o;
        void* const word = const_cast<std::uint64_t*>(context.host_words() + i % 2);
        return ToOutcome(
            cudaMemcpyAsync(word, &progress->finished, sizeof(std::uint64_t), cudaMemcpyDeviceToHost, stream),
            "copy of the progress");
      },
      [&](std::uint64_t i) {
        const std::uint64_t finished = context.host_words()[i % 2];
        context.ReportProgress(static_cast<double>(finished) / static_cast<double>(points));
        return finished >= points;
      });
}

}  // namespace hotplate::mandelbrot
