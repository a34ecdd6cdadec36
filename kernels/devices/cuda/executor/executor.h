// One CUDA device and its lanes, on the plug-in's side of the table. The life of a task on a lane:
//   1. Device memory comes from the device's stream-ordered pool (task_memory.h): one block for the task's own arrays.
//   An
//      array with an identity is used where it lies, or gets memory of its own and stays (resident_arrays.h).
//   2. Inputs that are not on the device: host -> pinned staging -> device (staging.h), the first bytes on the bus
//   while
//      the last are staged.
//   3. The kernel's launcher enqueues on the lane's stream.
//   4. Outputs come back the same way, but for those that stay; the block returns to the pool in stream order.
// Events on the stream between these give the times. Every call's result is read; the first failure ends the task. A
// sticky error (an illegal address in a kernel) marks the device as lost: it takes no more work.
//
// All of it calls the driver through Driver's table, with the device's primary context, which the CUDA runtime uses
// too; only kernels use the runtime, on the lane's stream. So tests can replace libcuda by another driver.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/mutex.h"
#include "kernels/devices/cpu/thread_pool.h"
#include "kernels/devices/cuda/executor/context.h"
#include "kernels/devices/cuda/executor/device_code.h"
#include "kernels/devices/cuda/executor/pinned_pool.h"
#include "kernels/devices/cuda/executor/resident_arrays.h"
#include "kernels/devices/cuda/executor/staging.h"
#include "kernels/devices/cuda/plugin/kernel_side.h"
#include "kernels/devices/cuda/plugin/plugin_abi.h"

namespace hotplate {

// Device bytes that a call needs at most: its arrays, each padded, and the kernel's scratch. INVALID if that overflows.
Outcome PlanBytes(const CudaLauncher& launcher, const hotplate_call& call, const CudaTraits& traits,
                  std::uint64_t& bytes);

class LaneExecutor;
class TaskMemory;

class DeviceExecutor {
 public:
  // Null and the reason in `why`.
  static std::unique_ptr<DeviceExecutor> Open(const hotplate_cuda_device_options& options, hotplate_cuda_log log,
                                              void* user, Outcome& why);
  ~DeviceExecutor();

  const hotplate_cuda_device_info& info() const { return info_; }
  const CudaTraits& traits() const { return traits_; }
  const Driver& driver() const { return driver_; }
  int index() const { return options_.index; }
  PinnedPool& pinned() { return pinned_; }
  ThreadPool& copy_threads() { return copy_threads_; }
  int copy_helpers() const { return options_.copy_threads; }

  // Makes the device's context this thread's.
  Outcome Enter() const;
  // OK, or DEVICE_LOST and why.
  Outcome Usable() const;
  // OK, or INVALID: the compute capability lacks this precision.
  Outcome CheckPrecision(int precision) const;

  ResidentArrays& resident() { return resident_; }
  DeviceCode& code() { return code_; }

  // Memory from the pool, ordered in the stream. Unused resident arrays are evicted before OUT_OF_MEMORY is returned.
  Outcome TryAllocate(std::uint64_t bytes, CUstream_st* stream, DevicePointer& block);
  // The same for a lane's task, but that OUT_OF_MEMORY says what is needed and what the driver has free.
  Outcome Allocate(std::uint64_t bytes, const LaneExecutor& lane, DevicePointer& block);
  // After a task's host side, which may have run out of memory outside of the pool, for example for a module's code or
  // a library's workspace: gives back the pool's spare memory and unused resident arrays. False if it failed for
  // another reason, or if there was nothing to give back: do not try again then. `by_library`: a library was called.
  bool MakeRoomAfter(const Outcome& outcome, bool by_library);
  // Frees memory of either allocation, in stream order.
  Outcome Free(DevicePointer block, std::uint64_t bytes, CUstream_st* stream);
  // Makes memory from TryAllocate a resident array's; see ResidentArrays::Add.
  ResidentArrays::Use Keep(std::uint64_t identity, std::uint64_t bytes, std::uint64_t copied, DevicePointer memory,
                           CUstream_st* stream, const ArrayHome& home = {});
  // Whether arrays may lie here alone: there is pinned memory to copy them to the host at any time. Without it they
  // could neither be read nor make room.
  bool CanWriteBack();

  // The lane's task has its memory and is about to enqueue: no thread may wait for its stream.
  void Begin(const LaneExecutor& lane);
  // The task is over, and its memory is freed in its stream.
  void Returned(const LaneExecutor& lane);

  // A piece of an array, ahead of any task; pieces come in order. False if the rest need not come: there is no room, or
  // a task has copied it, or the device is lost.
  bool Upload(std::uint64_t identity, std::uint64_t total_bytes, std::uint64_t offset, const std::byte* data,
              std::uint64_t bytes);
  // Writes an array that lies here alone to the host; see ResidentArrays::Fetch. DEVICE_LOST and why.
  Outcome Fetch(std::uint64_t identity);
  // Copies an array that lies on the other device alone to this one, which has it from then on, where the two reach
  // each other; see Device::TakeFrom.
  Outcome TakeFrom(DeviceExecutor& other, std::uint64_t identity, std::uint64_t bytes);
  void Forget(std::uint64_t identity);

  // Gives the pool's memory back to the device, except for a small rest, if no task has had memory for some seconds.
  // Call it now and then, from any thread.
  void Rest(std::chrono::steady_clock::time_point now);
  // Gives all of it back that no task has, since another process is about to begin there.
  void GiveBack();

  // After a failure of `what` ("kernel selu") on `stream`, in a lane or in none: the same outcome if the device still
  // works, else marks it lost.
  Outcome Judge(const Outcome& failure, const LaneExecutor* lane, const std::string& what, CUstream_st* stream);

  std::uint64_t FreeBytes() const;
  bool Sample(hotplate_cuda_sample& sample) const;

  void Add(const LaneExecutor& lane);
  void Remove(const LaneExecutor& lane);

 private:
  DeviceExecutor(const hotplate_cuda_device_options& options, hotplate_cuda_log log, void* user);
  Outcome Initialise();
  // The context has an error that stays: it was broken before, by this process, and CUDA gave it back as it was.
  bool IsBroken() const;
  Outcome Describe();
  Outcome MakeContext();
  Outcome MakePool();
  Outcome FromPool(std::uint64_t bytes, CUstream_st* stream, DevicePointer& block)
      ABSL_SHARED_LOCKS_REQUIRED(allocating_);
  // AllocateAtOnce takes little time. AllocateWithRoom does everything possible.
  Outcome AllocateAtOnce(std::uint64_t bytes, CUstream_st* stream, DevicePointer& block);
  Outcome AllocateWithRoom(std::uint64_t bytes, CUstream_st* stream, DevicePointer& block)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(uploading_);
  // The bytes available without taking from resident arrays.
  std::uint64_t UnclaimedBytes() const;
  // Notes an allocation or a free: the pool may be shrunk again when the device is idle.
  void Touch();
  // Shrinks the pool to `keep` bytes, as far as running tasks and resident arrays allow.
  Outcome Shrink(std::uint64_t keep) ABSL_EXCLUSIVE_LOCKS_REQUIRED(allocating_);
  // "; beside it ran a, b": the kernels of the other lanes.
  std::string Neighbours(const LaneExecutor* lane) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OK, or why the other device's pool cannot be read from here.
  Outcome Reach(const DeviceExecutor& other) const;
  // A copy of the other device's array in memory of its own; waits for it.
  Outcome CopyFrom(const DeviceExecutor& other, const ResidentArrays::Use& there, std::uint64_t identity,
                   std::uint64_t bytes, ResidentArrays::Use& here) ABSL_EXCLUSIVE_LOCKS_REQUIRED(uploading_);
  // ResidentArrays::CopyBack.
  Outcome CopyBack(const std::byte* memory, std::byte* host, std::uint64_t bytes);

  const hotplate_cuda_device_options options_;
  const hotplate_cuda_log log_;
  void* const log_user_;
  Driver driver_;
  int device_ = 0;
  int compute_mode_ = 0;
  CUctx_st* context_ = nullptr;
  hotplate_cuda_device_info info_{};
  CudaTraits traits_;
  OwnedPool pool_;
  DeviceCode code_{driver_, options_};
  PinnedPool pinned_;
  ThreadPool copy_threads_;
  ResidentArrays resident_{driver_, [this](const std::byte* memory, std::byte* host, std::uint64_t bytes) {
                             return CopyBack(memory, host, bytes);
                           }};
  std::atomic<std::uint64_t> task_bytes_{0};  // allocated bytes, without resident arrays

  // Held shared while a block is allocated, alone while the pool shrinks: what one lane makes room for must not go to
  // another. Locked before mutex_.
  SharedMutex allocating_;

  std::atomic<bool> lost_{false};
  mutable Mutex mutex_;
  std::string why_lost_ ABSL_GUARDED_BY(mutex_);
  std::vector<const LaneExecutor*> lanes_ ABSL_GUARDED_BY(mutex_);
  // The lanes among these that may have a kernel in flight.
  std::vector<const LaneExecutor*> running_ ABSL_GUARDED_BY(mutex_);
  bool shrunk_ ABSL_GUARDED_BY(mutex_) = true;  // since memory was last allocated or freed
  std::chrono::steady_clock::time_point last_touched_ ABSL_GUARDED_BY(mutex_);

  // Held while a piece is copied, and while an array is fetched or taken over: all use an array that may be wanted for
  // its room. Locked before all others.
  Mutex uploading_;
  std::unique_ptr<Staging> upload_staging_ ABSL_GUARDED_BY(uploading_);  // from the first upload on

  std::atomic<bool> can_write_back_{false};  // write_back_staging_ is there
  Mutex writing_back_;                       // locked after all others
  // From the first output on that may stay.
  std::unique_ptr<Staging> write_back_staging_ ABSL_GUARDED_BY(writing_back_);
};

class LaneExecutor {
 public:
  static std::unique_ptr<LaneExecutor> Open(DeviceExecutor& device, Outcome& why);
  ~LaneExecutor();

  // Gives the launcher's kernel the library handle that dlopen returned, for this lane. INVALID says what is wrong.
  Outcome UseLibrary(const CudaLauncher& launcher, void* opened);

  void Run(const CudaLauncher& launcher, const hotplate_call& call, hotplate_control& control,
           hotplate_cuda_report& report);

  // The running kernel, for messages; null when idle. Any thread.
  const char* kernel() const { return kernel_.load(std::memory_order_relaxed); }
  CUstream_st* stream() const { return stream_.get(); }

 private:
  explicit LaneExecutor(DeviceExecutor& device)
      : device_(device), staging_(device.pinned(), &device.copy_threads(), device.copy_helpers()) {}
  Outcome Initialise();
  Outcome RunTask(const CudaLauncher& launcher, const hotplate_call& call, hotplate_control& control,
                  hotplate_cuda_report& report);
  // The scratch that the call needs on this lane.
  Outcome ScratchBytes(const CudaLauncher& launcher, const hotplate_call& call, CudaContext& context,
                       std::uint64_t& bytes);
  Outcome RunInMemory(const CudaLauncher& launcher, TaskMemory& memory, CudaContext& context,
                      hotplate_cuda_report& report);
  Outcome Elapsed(int from, int to, std::uint64_t& ns) const;

  DeviceExecutor& device_;
  OwnedStream stream_;
  OwnedLibraries libraries_;
  std::array<OwnedEvent, 4> times_;  // before the inputs, before the kernel, after it, after the outputs
  std::array<OwnedEvent, 2> marks_;
  PinnedBytes host_words_;
  Staging staging_;
  std::atomic<const char*> kernel_{nullptr};
};

}  // namespace hotplate
