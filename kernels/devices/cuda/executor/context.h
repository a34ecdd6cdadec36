// What a CUDA kernel's host side works with: the lane's stream, libraries and marks, the device's traits, the task's
// cancel flag and progress. Compiled by nvcc and by the host compiler; no absl, and nothing of the CUDA Toolkit.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/call/call.h"
#include "kernels/devices/cuda/code/grid.h"
#include "kernels/devices/cuda/code/traits.h"
#include "kernels/devices/cuda/executor/driver.h"

namespace hotplate {

struct LaneLibraries;  // kernel_side.h

class CudaContext {
 public:
  // Borrowed from the lane for one task.
  struct Handles {
    const Driver* driver = nullptr;
    CUstream_st* stream = nullptr;
    LaneLibraries* libraries = nullptr;
    std::array<CUevent_st*, 2> marks{};  // for Pace
    // Eight words of pinned memory, for what the device tells a kernel's host side. The device may write them.
    volatile std::uint64_t* host_words = nullptr;
    // One of the lane's own pinned buffers for copies, which the kernel may use in the order of the stream.
    std::span<std::byte> pinned = {};
  };

  CudaContext(const CudaTraits& traits, const Handles& handles, hotplate_control& control)
      : traits_(traits), handles_(handles), control_(control) {}
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const CudaTraits& traits() const { return traits_; }
  const Driver& driver() const { return *handles_.driver; }
  CUstream_st* stream() const { return handles_.stream; }
  LaneLibraries& libraries() const { return *handles_.libraries; }
  volatile std::uint64_t* host_words() const { return handles_.host_words; }
  std::span<std::byte> pinned() const { return handles_.pinned; }

  bool CancelRequested() const { return std::atomic_ref(control_.cancel).load(std::memory_order_relaxed) != 0; }
  void ReportProgress(double fraction) {
    std::atomic_ref(control_.progress).store(static_cast<std::uint32_t>(fraction * 1e6), std::memory_order_relaxed);
  }

  // To be returned after each launch: the one place that reads and clears a launch's error.
  Outcome LaunchStatus() const;

  // For what was enqueued so far: where the host has to know what came of it before the kernel's end.
  Outcome Wait() {
    const Outcome marked = driver().Check(driver().cuEventRecord(handles_.marks[0], stream()), "marking a step");
    return marked.ok() ? driver().Check(WaitFor(driver(), handles_.marks[0]), "running the kernel") : marked;
  }

  // Calls enqueue(0), enqueue(1), … up to `count`, each of which enqueues one step and returns an Outcome. Two are in
  // flight at a time: the device does not idle between steps, and a cancel waits for two of them at most (of each Pace:
  // one may begin before the last two of another are over). When step i is over on the device, calls completed(i); true
  // ends the task. The last steps are not waited for.
  template <typename Enqueue, typename Completed>
  Outcome Pace(std::uint64_t count, Enqueue&& enqueue, Completed&& completed) {
    for (std::uint64_t i = 0; i < count; ++i) {
      CUevent_st* const mark = handles_.marks[i % 2];
      if (i >= 2) {
        const Outcome waited = driver().Check(WaitFor(driver(), mark), "running the kernel");
        if (!waited.ok()) return waited;
        if (completed(i - 2)) return Outcome::Ok();
      }
      if (CancelRequested()) return Outcome::Cancelled();
      if (const Outcome launched = enqueue(i); !launched.ok()) return launched;
      const Outcome marked = driver().Check(driver().cuEventRecord(mark, stream()), "marking a step");
      if (!marked.ok()) return marked;
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
