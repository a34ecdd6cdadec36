// One CUDA device and its lanes, on the plug-in's side of the table. The life of a task on a lane:
//   1. One block of device memory for all of its arrays and scratch, from the device's stream-ordered pool.
//   2. Inputs: host -> pinned staging -> device, in chunks through two buffers, so that the host's copying and the
//      bus work at the same time.
//   3. The kernel's launcher enqueues on the lane's stream.
//   4. Outputs come back the same way; the stream is waited for; the block goes back to the pool.
// Events on the stream between these give the times. Every CUDA call's result is read; the first failure ends the task.
// An error that stays (an illegal address in a kernel) marks the device as lost: it takes no more work.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "kernels/cuda/context.h"
#include "kernels/cuda/launchers.h"
#include "kernels/cuda/owners.h"
#include "kernels/cuda/plugin_abi.h"

namespace hotplate {

// Where a task's arrays and scratch lie in its block of memory.
struct TaskLayout {
  std::uint64_t bytes = 0;  // of the block
  std::uint64_t scratch_offset = 0;
  std::uint64_t scratch_bytes = 0;
};

class DeviceExecutor {
 public:
  // Null and the reason in `why`.
  static std::unique_ptr<DeviceExecutor> Open(int index, hotplate_cuda_log log, void* user, Outcome& why);

  const hotplate_cuda_device_info& info() const { return info_; }
  const CudaTraits& traits() const { return traits_; }
  int index() const { return index_; }
  cudaMemPool_t pool() const { return pool_.get(); }

  // OK, or DEVICE_LOST and why.
  Outcome Usable() const;
  // After a failure in `kernel` on `stream`: the same outcome if the device still works, else marks it lost.
  Outcome Judge(const Outcome& failure, const char* kernel, cudaStream_t stream);

  std::uint64_t FreeBytes() const;
  bool Sample(hotplate_cuda_sample& sample) const;
  void Log(const std::string& line) const;

 private:
  explicit DeviceExecutor(int index, hotplate_cuda_log log, void* user) : index_(index), log_(log), log_user_(user) {}
  Outcome Initialise();

  const int index_;
  const hotplate_cuda_log log_;
  void* const log_user_;
  hotplate_cuda_device_info info_{};
  CudaTraits traits_;
  OwnedPool pool_;

  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  std::string why_lost_;  // guarded by mutex_
};

// Copies between pageable host memory and the device through two pinned buffers.
class Staging {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

  Outcome Initialise();
  // Both enqueue on `stream`. ToDevice returns when the host memory has been read, FromDevice when it has been written.
  // Either gives up between chunks when the task is cancelled.
  Outcome ToDevice(std::byte* device, const std::byte* host, std::size_t bytes, const CudaContext& context);
  Outcome FromDevice(std::byte* host, const std::byte* device, std::size_t bytes, const CudaContext& context);

 private:
  struct Buffer {
    PinnedBytes bytes;
    OwnedEvent copied;  // the last copy that used the bytes
  };
  std::array<Buffer, 2> buffers_;
  std::size_t next_ = 0;
};

class LaneExecutor {
 public:
  static std::unique_ptr<LaneExecutor> Open(DeviceExecutor& device, Outcome& why);
  ~LaneExecutor();

  void Run(const CudaLauncher& launcher, const hotplate_call& call, hotplate_control& control,
           hotplate_cuda_report& report);

 private:
  explicit LaneExecutor(DeviceExecutor& device) : device_(device) {}
  Outcome Initialise();
  Outcome Allocate(std::uint64_t bytes, std::byte** block);
  Outcome RunInBlock(const CudaLauncher& launcher, const hotplate_call& host_call, const TaskLayout& layout,
                     std::byte* block, CudaContext& context, hotplate_cuda_report& report);

  DeviceExecutor& device_;
  OwnedStream stream_;
  OwnedBlas blas_;
  std::array<OwnedEvent, 4> times_;  // before the inputs, before the kernel, after it, after the outputs
  std::array<OwnedEvent, 2> marks_;
  PinnedBytes host_words_;
  Staging staging_;
};

// Device bytes that a call needs: its arrays, each padded, and the kernel's scratch. INVALID if that overflows.
Outcome LayOut(const CudaLauncher& launcher, const hotplate_call& call, const CudaTraits& traits, TaskLayout& layout);

}  // namespace hotplate
