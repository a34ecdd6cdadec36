// The seam between the core and whatever runs kernels. The life of a task on a device:
//   1. The core asks Device::Plan for the exact bytes that the bound call needs, and admits it when they fit.
//   2. A lane (opened by Device::OpenLane on a thread of its own) gets a Task: plain data only, so that a device may
//      one day live in another process.
//   3. Lane::Run copies inputs to the device where that is another memory, launches, waits, copies outputs back,
//      and times each. It polls control.cancel between chunks and stores control.progress.
//      An array with an identity (abi.h) may stay on the device: then it is not copied there again.
//   4. The Report says how it ended. Nothing throws; after kDeviceLost the device takes no more work.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/call/call.h"
#include "kernels/spec/spec.h"

namespace hotplate {

struct DeviceInfo {
  std::string id;       // "cpu0", "gpu0"
  std::string backend;  // "cpu", "cuda"
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  std::uint64_t memory_bytes = 0;  // what jobs may use at most
  int lanes = 1;
  int threads_per_lane = 1;
  std::string compute_capability;
  std::string mode;
  std::string instruction_set;
  std::string driver_version;                    // of the device's driver: "580.65.06"
  std::string runtime_version;                   // of the CUDA that the plug-in was built with: "13.0"
  std::map<std::string, std::string> libraries;  // that kernels call, with their versions: {"OpenBLAS", "0.3.21"}
  bool host_memory = true;                       // arrays are used where they lie; nothing is copied
  // Its lanes run tasks on whatever thread calls them, and a tiny task costs little more than its arithmetic: worth
  // running where it is asked for.
  bool any_thread = false;
};

// Exact bytes that one call needs beside its inputs and outputs.
struct MemoryPlan {
  std::uint64_t scratch_bytes = 0;
};

// Every array lies in host memory when it reaches a lane, and stays there; the lane copies to and from a device that
// has its own.
struct Task {
  const char* kernel = nullptr;
  const char* spec_hash = nullptr;
  hotplate_call call{};  // without scratch: that is the lane's business
  std::uint64_t scratch_bytes = 0;
};

struct Report {
  Outcome outcome = Outcome::Ok();
  // Nanoseconds; absent where the back-end has no such part.
  std::optional<std::uint64_t> host_to_device_ns, compile_ns, kernel_ns, device_to_host_ns;
  std::optional<bool> compile_cache_hit;
  int threads = 0;
};

// Written by the owner (cancel) and by the lane (progress) at the same time.
class TaskControl {
 public:
  void RequestCancel() { std::atomic_ref(plain_.cancel).store(1, std::memory_order_relaxed); }
  bool cancel_requested() { return std::atomic_ref(plain_.cancel).load(std::memory_order_relaxed) != 0; }
  double progress() { return std::atomic_ref(plain_.progress).load(std::memory_order_relaxed) / 1e6; }
  hotplate_control& plain() { return plain_; }

 private:
  alignas(8) hotplate_control plain_{};
};

class Lane {
 public:
  virtual ~Lane() = default;
  // Returns when the task is over. One call at a time; on the thread that opened the lane, unless the device says
  // that any will do. Made and destroyed on that thread in any case.
  virtual Report Run(const Task& task, TaskControl& control) = 0;
};

// What a device can say of itself right now. A metric it does not have is absent, never zero.
struct DeviceMetrics {
  std::optional<double> utilisation;  // 0 to 1
  std::optional<std::uint64_t> memory_used_bytes, memory_total_bytes;
  // This process's own pool of device memory, of which jobs get theirs: what it holds, what jobs and the arrays that
  // stay there use of it, the most that they used; and the host memory that is pinned for copies.
  std::optional<std::uint64_t> pool_reserved_bytes, pool_used_bytes, pool_peak_bytes, pinned_bytes, pinned_peak_bytes;
  std::optional<std::uint64_t> resident_bytes, resident_arrays;  // of the pool's used bytes, the arrays'; their count
  std::optional<double> power_watts, power_limit_watts, energy_joules, temperature_celsius;
  std::optional<std::uint32_t> sm_clock_mhz, memory_clock_mhz, processes;
  // What holds the clocks down now, in words; a device that merely rests has none. Nothing where it cannot tell.
  std::optional<std::vector<std::string>> throttle_reasons;
  std::optional<double> pcie_receive_bytes_per_second, pcie_transmit_bytes_per_second;

  bool clocks_at_rest = false;                   // nothing runs: the clocks are not those of any job
  std::optional<std::uint32_t> other_processes;  // of the processes, those that are not this one
  // Counters that only grow: since the driver was loaded, and since the device was opened.
  std::optional<std::uint64_t> power_throttled_ns, thermal_throttled_ns, ecc_errors, xid_errors;
  std::optional<std::uint32_t> last_xid;
  // Power, energy, clocks, temperature, throttling and errors are those of the whole GPU that this is a part of (MIG).
  bool of_whole_gpu = false;
  std::string lost;  // why the device can no longer be used; empty while it can
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  // FAILED_PRECONDITION if this back-end has no such kernel (or another spec of it).
  virtual absl::StatusOr<MemoryPlan> Plan(const BoundCall& call) const = 0;
  // OK, or FAILED_PRECONDITION: why Plan refuses every call of this kernel, as far as is known; the reason alone, which
  // devices and kernels may share. Thread-safe.
  virtual absl::Status Offers(const std::string& /*kernel*/) const { return absl::OkStatus(); }
  virtual absl::StatusOr<std::unique_ptr<Lane>> OpenLane() = 0;
  // Both are for a device with memory of its own, and thread-safe. A copy there is only ever a copy: the caller keeps
  // the array itself, so the device may drop it at any time, or never have it.
  // A piece of an array that has an identity, ahead of any task: pieces come in order, the first at offset 0. Returns
  // when the piece has been read. False: the rest need not come.
  virtual bool Upload(std::uint64_t /*identity*/, std::uint64_t /*total_bytes*/, std::uint64_t /*offset*/,
                      std::span<const std::byte> /*piece*/) {
    return false;
  }
  // No task will be given this identity again.
  virtual void Forget(std::uint64_t /*identity*/) {}
  // Bytes that are free for jobs now; copies of arrays that no task uses do not count against it. Thread-safe.
  virtual std::uint64_t FreeBytes() const = 0;
  // May take milliseconds. Thread-safe: the sampler's thread calls it, and a lane's at the end of a long task.
  virtual DeviceMetrics Sample() = 0;
};

struct DeviceSet {
  std::vector<std::unique_ptr<Device>> devices;
  // Why something that was looked for is not used, one sentence each.
  std::vector<std::string> notes;
  // What of this machine the devices were opened with (plug-in, libraries), one sentence each.
  std::vector<std::string> sources;
};

struct CpuOptions {
  int lanes = 2;
  int threads = 0;                 // of all lanes together; 0: what affinity and cgroup allow
  std::uint64_t memory_bytes = 0;  // 0: what the cgroup (else the machine) has
};

// kernels/devices/cpu: one device, "cpu0".
std::unique_ptr<Device> OpenCpuDevice(const CpuOptions& options);

struct CudaOptions {
  int lanes = 2;
  // Where libhotplate_cuda<major>.so is looked for; empty: the running program's folder.
  std::string plugin_folder;
  // The driver's library; empty: the environment's HOTPLATE_CUDA_DRIVER_LIBRARY, else libcuda.so.1.
  std::string driver_library;
  // Indices of the driver's devices; empty: all. A note for each that is not there.
  std::vector<int> indices;
  // Slurm's own numbers of the GPUs that it gave; empty: not known. A note for each device that is none of them.
  std::vector<int> given;
  // Threads that help the lanes of a device to copy, and host memory that may be pinned for them; of each device. A
  // lane needs 8 MiB of it, and so do uploads that run ahead of tasks.
  int copy_threads = 0;
  std::uint64_t pinned_bytes = std::uint64_t{64} << 20;
  // Told of what a device has to say while it works (that it is lost), one line at a time, on any thread. May be empty.
  std::function<void(const std::string& line)> log;
};

// kernels/devices/cuda/loader: opens libcuda.so.1, then the newest plug-in that works. No driver, no plug-in or no device
// is zero devices and a note, never an error.
DeviceSet OpenCudaDevices(const CudaOptions& options, const Catalog& catalog);

}  // namespace hotplate
