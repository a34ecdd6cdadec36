// What a CUDA kernel's host side works with: the lane's stream, library handle and marks, the device's traits, the
// task's cancel flag and progress. Compiled by nvcc and by the host compiler; no absl.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "kernels/call.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/traits.h"

struct cublasLtContext;  // what cublasLtHandle_t points to

namespace hotplate {

// OK, or OUT_OF_MEMORY, or FAILED with what was tried and CUDA's own words. Whether the device is lost is the lane's
// to find out (executor.cpp).
Outcome ToOutcome(cudaError_t error, std::string_view what);

// Waits for the event: spins for the length of a small job, then sleeps until the driver wakes it. The event has
// cudaEventBlockingSync.
cudaError_t WaitFor(cudaEvent_t event);

class CudaContext {
 public:
  // Borrowed from the lane for one task.
  struct Handles {
    cudaStream_t stream = nullptr;
    cublasLtContext* blas = nullptr;
    std::array<cudaEvent_t, 2> marks{};  // for Pace
    // Two words of pinned memory, for what a paced kernel tells its host side. The device may write them.
    volatile std::uint64_t* host_words = nullptr;
  };

  CudaContext(const CudaTraits& traits, const Handles& handles, hotplate_control& control)
      : traits_(traits), handles_(handles), control_(control) {}
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const CudaTraits& traits() const { return traits_; }
  cudaStream_t stream() const { return handles_.stream; }
  cublasLtContext* blas() const { return handles_.blas; }
  volatile std::uint64_t* host_words() const { return handles_.host_words; }

  bool CancelRequested() const { return std::atomic_ref(control_.cancel).load(std::memory_order_relaxed) != 0; }
  void ReportProgress(double fraction) {
    std::atomic_ref(control_.progress).store(static_cast<std::uint32_t>(fraction * 1e6), std::memory_order_relaxed);
  }

  // To be returned after each launch: the one place that reads and clears a launch's error.
  Outcome LaunchStatus() const { return ToOutcome(cudaGetLastError(), "launch"); }

  // Calls enqueue(0), enqueue(1), … up to `count`, each of which enqueues one step and returns an Outcome. Two are in
  // flight at a time: the device does not idle between steps, and a cancel waits for two of them at most. When step i
  // is over on the device, calls completed(i); true ends the task. The last steps are not waited for.
  template <typename Enqueue, typename Completed>
  Outcome Pace(std::uint64_t count, Enqueue&& enqueue, Completed&& completed) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const cudaEvent_t mark = handles_.marks[i % 2];
      if (i >= 2) {
        if (const Outcome waited = ToOutcome(WaitFor(mark), "running the kernel"); !waited.ok()) return waited;
        if (completed(i - 2)) return Outcome::Ok();
      }
      if (CancelRequested()) return Outcome::Cancelled();
      if (const Outcome launched = enqueue(i); !launched.ok()) return launched;
      if (const Outcome marked = ToOutcome(cudaEventRecord(mark, stream()), "mark"); !marked.ok()) return marked;
    }
    return Outcome::Ok();
  }

  // Paces launch(begin, end) over the chunks, with progress.
  template <typename Launch>
  Outcome InChunks(const Chunks& chunks, Launch&& launch) {
    return Pace(
        chunks.count(), [&](std::uint64_t i) { return launch(chunks.Begin(i), chunks.End(i)); },
        [&](std::uint64_t i) {
          ReportProgress(static_cast<double>(i + 1) / static_cast<double>(chunks.count()));
          return false;
        });
  }

 private:
  const CudaTraits& traits_;
  const Handles handles_;
  hotplate_control& control_;
};

}  // namespace hotplate
