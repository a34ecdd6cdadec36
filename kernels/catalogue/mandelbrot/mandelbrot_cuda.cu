#include "kernels/catalogue/mandelbrot/mandelbrot.h"
#include "kernels/catalogue/mandelbrot/mandelbrot_cuda.h"
#include "kernels/devices/cuda/code/launch.h"

namespace hotplate::mandelbrot {
namespace {

constexpr unsigned kAll = 0xffffffff;
constexpr int kWarp = 32;

struct Picture {
  double x_min, x_max, y_min, y_max;
  std::uint32_t resolution;  // its square, the number of points, is 2^32 at most: an index fits in 32 bits
  std::int32_t max_iterations;
};

struct Progress {
  unsigned long long taken;     // points that a warp has or had
  unsigned long long finished;  // points whose count is written
};

struct Saved {
  unsigned long long* next;  // of a warp: its points that no thread has yet
  unsigned long long* end;
  double* x;
  double* y;
  std::uint32_t* point;
  std::int32_t* count;
};

__device__ Orbit StartOf(const Picture& picture, std::uint32_t point) {
  const std::uint32_t row = point / picture.resolution, column = point - row * picture.resolution;
  return OrbitOf(Coordinate(column, picture.resolution, picture.x_min, picture.x_max),
                 Coordinate(row, picture.resolution, picture.y_min, picture.y_max));
}

// One slice: `rounds` times kStep iterations of the thread's own points.
__global__ void __launch_bounds__(kBlockSize, kThreadsPerMultiprocessor / kBlockSize)
    Slice(Picture picture, Progress* progress, Saved saved, std::int32_t* counts, std::uint32_t rounds) {
  const unsigned long long points = static_cast<unsigned long long>(picture.resolution) * picture.resolution;
  if (progress->finished >= points) return;  // the slice before this one was the last

  const unsigned thread = blockIdx.x * kBlockSize + threadIdx.x;
  const unsigned lane = threadIdx.x % kWarp, warp = thread / kWarp, warps = gridDim.x * (kBlockSize / kWarp);
  std::uint32_t point = 0;
  Orbit orbit;
  const std::int32_t count = saved.count[thread];
  bool busy = count >= 0;
  if (busy) {
    point = saved.point[thread];
    orbit = StartOf(picture, point);
    orbit.x = saved.x[thread];
    orbit.y = saved.y[thread];
    orbit.count = count;
  }
  // Shared by the warp: its points that no thread has yet, and whether there are no more.
  unsigned long long next = saved.next[warp], end = saved.end[warp];
  bool exhausted = false;
  unsigned finished = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const unsigned idle = __ballot_sync(kAll, !busy);
    if (__popc(idle) >= kIdleThreads) {
      if (next == end && !exhausted) {
        if (lane == 0) {
          // Points taken by others meanwhile only make the share a little too large.
          const unsigned long long taken = *static_cast<volatile unsigned long long*>(&progress->taken);
          const unsigned long long share = PointsToTake(taken < points ? points - taken : 0, warps);
          next = atomicAdd(&progress->taken, share);
          end = next + share;
        }
        next = min(__shfl_sync(kAll, next, 0), points);
        end = min(__shfl_sync(kAll, end, 0), points);
        exhausted = next == end;
      }
      const unsigned long long mine = next + static_cast<unsigned>(__popc(idle & ((1u << lane) - 1)));
      if (!busy && mine < end) {
        point = static_cast<std::uint32_t>(mine);
        orbit = StartOf(picture, point);
        busy = true;
      }
      next = min(next + static_cast<unsigned>(__popc(idle)), end);
      if (exhausted && !__any_sync(kAll, busy)) break;
    }
    if (busy && Advance(orbit, picture.max_iterations, kStep)) {
      counts[point] = orbit.count;
      busy = false;
      ++finished;
    }
    __syncwarp();
  }
  saved.count[thread] = busy ? orbit.count : -1;
  if (busy) {
    saved.point[thread] = point;
    saved.x[thread] = orbit.x;
    saved.y[thread] = orbit.y;
  }
  for (int offset = kWarp / 2; offset > 0; offset /= 2) finished += __shfl_down_sync(kAll, finished, offset);
  if (lane == 0) {
    saved.next[warp] = next;
    saved.end[warp] = end;
    if (finished > 0) atomicAdd(&progress->finished, static_cast<unsigned long long>(finished));
  }
}

std::uint64_t Points(const Call& call) {
  const auto resolution = static_cast<std::uint64_t>(call.Int("resolution"));
  return resolution * resolution;
}

Outcome Fill(void* memory, int byte, std::uint64_t bytes, CudaContext& context) {
  return ToOutcome(cudaMemsetAsync(memory, byte, bytes, context.stream()), "memset");
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits) {
  return LayOutScratch(SlicesFor(Points(call), traits)).bytes;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  const Picture picture{call.Float("x_min"),
                        call.Float("x_max"),
                        call.Float("y_min"),
                        call.Float("y_max"),
                        static_cast<std::uint32_t>(call.Int("resolution")),
                        static_cast<std::int32_t>(call.Int("max_iterations"))};
  const std::uint64_t points = Points(call);
  const Slices slices = SlicesFor(points, context.traits());
  const ScratchLayout layout = LayOutScratch(slices);
  std::byte* const scratch = call.scratch().data();
  Progress* const progress = reinterpret_cast<Progress*>(scratch);
  const Saved saved{reinterpret_cast<unsigned long long*>(scratch + layout.next),
                    reinterpret_cast<unsigned long long*>(scratch + layout.end),
                    reinterpret_cast<double*>(scratch + layout.x),
                    reinterpret_cast<double*>(scratch + layout.y),
                    reinterpret_cast<std::uint32_t*>(scratch + layout.point),
                    reinterpret_cast<std::int32_t*>(scratch + layout.count)};
  std::int32_t* const counts = call.Output<std::int32_t>("counts").data();

  // No point taken, no warp and no thread with any.
  if (const Outcome o = Fill(scratch, 0, layout.x, context); !o.ok()) return o;
  if (const Outcome o = Fill(saved.count, 0xff, layout.bytes - layout.count, context); !o.ok()) return o;
  return context.Pace(
      UINT64_MAX,
      [&](std::uint64_t i) {
        const Outcome launched =
            Launch(context, Slice, slices.blocks(), kBlockSize, picture, progress, saved, counts, slices.rounds);
        if (!launched.ok()) return launched;
        void* const word = const_cast<std::uint64_t*>(context.host_words() + i % 2);
        return ToOutcome(cudaMemcpyAsync(word, &progress->finished, sizeof progress->finished, cudaMemcpyDeviceToHost,
                                         context.stream()),
                         "copy of the progress");
      },
      [&](std::uint64_t i) {
        const std::uint64_t finished = context.host_words()[i % 2];
        context.ReportProgress(static_cast<double>(finished) / static_cast<double>(points));
        return finished >= points;
      });
}

}  // namespace hotplate::mandelbrot
