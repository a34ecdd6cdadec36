// The context of a CUDA kernel's host side: the lane's stream, libraries and marks, the device's traits, the task's
// cancel flag and progress. Compiled by nvcc and by the host compiler; no absl, and nothing of the CUDA Toolkit.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/call/call.h"
#include "kernels/devices/cuda/code/grid.h"
#include "kernels/devices/cuda/code/traits.h"
#include "kernels/devices/cuda/executor/driver.h"

namespace hotplate {

struct LaneLibraries;  // kernel_side.h
class DeviceCode;      // device_code.h, as the next one
class LoadedCode;

// What it took to have compiled code, for reports.
struct CodeTimes {
  std::uint64_t compile_ns = UINT64_MAX;  // to compile or find it, and to load it; UINT64_MAX: it was loaded
  int cache_hit = -1;                     // 1: it was loaded, or had been compiled before; -1: there is no such code
};

class CudaContext {
 public:
  // Borrowed from the lane for one task.
  struct Handles {
    const Driver* driver = nullptr;
    CUstream_st* stream = nullptr;
    LaneLibraries* libraries = nullptr;
    std::array<CUevent_st*, 2> marks{};  // for Pace
    // Eight words of pinned memory, written by the device for a kernel's host side.
    volatile std::uint64_t* host_words = nullptr;
    // One of the lane's own pinned copy buffers. The kernel may use it in stream order.
    std::span<std::byte> pinned = {};
    DeviceCode* code = nullptr;      // null: no code is compiled here
    const char* compiler = nullptr;  // the launcher's
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

  // Compiles the text by the launcher's compiler, or finds it compiled, and keeps it loaded for as long as
  // this context. May wait long: to be called by lane_scratch_bytes, whose time is not the kernel's.
  Outcome LoadCode(const std::string& source);
  // Enqueues a function of that code. `blocks` must not be 0. `parameters`: their addresses.
  Outcome LaunchLoaded(const char* function, std::uint64_t blocks, unsigned threads, std::span<void*> parameters);
  const CodeTimes& code_times() const { return code_times_; }

  // Waits for everything enqueued so far, if the host needs its result before the kernel's end.
  Outcome Wait() {
    const Outcome marked = driver().Check(driver().cuEventRecord(handles_.marks[0], stream()), "marking a step");
    return marked.ok() ? driver().Check(WaitFor(driver(), handles_.marks[0]), "running the kernel") : marked;
  }

  // Calls enqueue(0), enqueue(1), … up to `count`; each enqueues one step and returns an Outcome. Two steps are in
  // flight at a time: the device does not idle between them, and a cancel waits for two at most (for each Pace: one may
  // begin before the last two steps of another have ended). When the device has finished step i, calls completed(i);
  // true ends the task. Does not wait for the last steps.
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
  std::shared_ptr<LoadedCode> code_;
  CodeTimes code_times_;
};

}  // namespace hotplate
