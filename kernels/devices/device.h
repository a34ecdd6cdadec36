// The seam between the core and the back-ends. The life of a task on a device:
//   1. The core asks Device::Plan for the exact bytes that the bound call needs, and admits it when they fit.
//   2. A lane (opened by Device::OpenLane on its own thread) gets a Task: plain data only, so that a device may one day
//      live in another process.
//   3. Lane::Run copies inputs to the device if it has its own memory, launches, waits, copies outputs back, and times
//      each step. It polls control.cancel between chunks and stores control.progress. An array with an identity (abi.h)
//      may stay on the device, and is then not copied again.
//   4. The Report has the outcome. Nothing throws; after kDeviceLost the device takes no more work.
//   5. The core closes the lanes of a lost device, calls Device::Reopen now and then, and opens lanes anew.
//
// Where an array's bytes lie: on the host, on a device, or both.
//   - An upload lies on the host; a device may have a copy, which it drops as it likes.
//   - A kept output stays on the device that made it, and its memory on the host is absent: addresses without bytes.
//     The next job on that device uses it there. A job on another device takes it over (Device::TakeFrom) where there
//     is a way between the two: then it lies on that one alone. Nothing is copied to the host until somebody wants the
//     host's bytes: a reader, a device that cannot take it over, the end of the daemon (Device::Fetch), or a task that
//     wants the room, for which the device writes the array to the host by itself. From then on the host has it too.
//   - The host's memory is counted against the daemon's limit (array-bytes) from before the task runs, as if the bytes
//     were there, but is not touched before they come. So a read, an eviction and a drain never fail for want of
//     memory, and acceptance promises what it promised before. The price: arrays on devices count against the host's
//     limit.
//   - The device knows the host's memory from the task, so eviction asks nobody; in exchange the memory outlives
//     Device::Forget. A device in another process would need that memory shared with it.
//   - With a device, arrays whose only bytes it had are lost: the core names them in the log, and to whoever reads
//     them. They stay lost when the device comes back.
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
  std::uint64_t memory_bytes = 0;  // that jobs may use at most
  int lanes = 1;
  int threads_per_lane = 1;
  std::string compute_capability;
  std::string mode;
  std::string instruction_set;
  std::string driver_version;                    // of the device's driver: "580.65.06"
  std::string runtime_version;                   // of the CUDA that the plug-in was built with: "13.0"
  std::map<std::string, std::string> libraries;  // called by kernels, with their versions: {"OpenBLAS", "0.3.21"}
  bool host_memory = true;                       // arrays are used where they lie; nothing is copied
  // Its lanes run tasks on any thread that calls them, and a tiny task costs little more than its arithmetic, so that
  // it is worth running where it was submitted.
  bool any_thread = false;
};

// Exact bytes that a call needs beside its inputs and outputs.
struct MemoryPlan {
  std::uint64_t scratch_bytes = 0;
};

// Every array has memory on the host. Its bytes are there when it reaches a lane, or on the lane's own device
// (hotplate_array::absent).
struct Task {
  const char* kernel = nullptr;
  const char* spec_hash = nullptr;
  hotplate_call call{};  // without scratch, which the lane provides
  std::uint64_t scratch_bytes = 0;
};

struct Report {
  Outcome outcome = Outcome::Ok();
  // Nanoseconds; absent if the back-end has no such step.
  std::optional<std::uint64_t> host_to_device_ns, compile_ns, kernel_ns, device_to_host_ns;
  std::optional<bool> compile_cache_hit;
  int threads = 0;
};

// Written at the same time by the owner (cancel) and by the lane (progress).
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
  // Returns when the task is over. One call at a time, on the thread that opened the lane, unless the device allows any
  // thread. The lane is made and destroyed on that thread in any case.
  virtual Report Run(const Task& task, TaskControl& control) = 0;
};

// A device's current metrics. A metric that it does not have is absent, never zero.
struct DeviceMetrics {
  std::optional<double> utilisation;  // 0 to 1
  std::optional<std::uint64_t> memory_used_bytes, memory_total_bytes;
  // This process's own pool of device memory, from which jobs are served: its size, the part used by jobs and resident
  // arrays, and the peak of that part; and the host memory pinned for copies, with its peak.
  std::optional<std::uint64_t> pool_reserved_bytes, pool_used_bytes, pool_peak_bytes, pinned_bytes, pinned_peak_bytes;
  std::optional<std::uint64_t> resident_bytes, resident_arrays;  // the arrays' part of pool_used_bytes; their number
  std::optional<double> power_watts, power_limit_watts, energy_joules, temperature_celsius;
  std::optional<std::uint32_t> sm_clock_mhz, memory_clock_mhz, processes;
  // Reasons for throttled clocks now, in words; empty for an idle device. Absent if unknown.
  std::optional<std::vector<std::string>> throttle_reasons;
  std::optional<double> pcie_receive_bytes_per_second, pcie_transmit_bytes_per_second;

  bool clocks_at_rest = false;                   // idle: the clocks are not those of any job
  std::optional<std::uint32_t> other_processes;  // without this process
  // Counters that only grow: since the driver was loaded; XIDs since the device was opened.
  std::optional<std::uint64_t> power_throttled_ns, thermal_throttled_ns, ecc_errors, xid_errors;
  std::optional<std::uint32_t> last_xid;
  // Power, energy, clocks, temperature, throttling and errors are those of the whole GPU (MIG).
  bool of_whole_gpu = false;
  std::string lost;  // why the device cannot be used; else empty
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  // FAILED_PRECONDITION: this back-end does not have the kernel, or has another spec of it.
  virtual absl::StatusOr<MemoryPlan> Plan(const BoundCall& call) const = 0;
  // OK, or FAILED_PRECONDITION: why Plan refuses every call of this kernel, as far as is known. Only the reason, which
  // devices and kernels may share. Thread-safe.
  virtual absl::Status Offers(const std::string& /*kernel*/) const { return absl::OkStatus(); }
  virtual absl::StatusOr<std::unique_ptr<Lane>> OpenLane() = 0;
  // After a loss, when the last lane is closed: makes the device usable again, with nothing in its memory; lanes can be
  // opened then. May take seconds. Before any of that, the device ends its copies to the host. UNAVAILABLE: not now;
  // try later. Another error: never in this process; it says what to do. The default is for a device that is never
  // lost.
  virtual absl::Status Reopen() {
    return absl::FailedPreconditionError("it cannot be opened again in this process; restart hotplated");
  }
  // Upload, Fetch and Forget are for a device with its own memory, and thread-safe. The caller keeps an uploaded array
  // itself, so the device may drop its copy at any time, or never make one. Upload sends a piece of an array with an
  // identity ahead of any task; pieces come in order, the first at offset 0. Returns when the piece has been read.
  // False: the rest need not come.
  virtual bool Upload(std::uint64_t /*identity*/, std::uint64_t /*total_bytes*/, std::uint64_t /*offset*/,
                      std::span<const std::byte> /*piece*/) {
    return false;
  }
  // Writes an array that lies on this device alone to the host. Returns when it is there. DEVICE_LOST: it is gone.
  virtual Outcome Fetch(std::uint64_t /*identity*/) { return Outcome::Failed("this device keeps no arrays"); }
  // Copies an array that lies on the other device alone straight to this one, which is from then on the one to have it;
  // the other may keep a copy, or drop it. Returns when it is here. Not OK, with the reason, and nothing has changed:
  // there is no way between the two, or no room here.
  virtual Outcome TakeFrom(Device& /*other*/, std::uint64_t /*identity*/, std::uint64_t /*bytes*/) {
    return Outcome::Failed("this device takes arrays from the host alone");
  }
  // No task will be given this identity again. Afterwards the device does not touch the array's memory on the host.
  virtual void Forget(std::uint64_t /*identity*/) {}
  // Another process is about to use the device: memory that is kept for tasks to come goes back to it. Thread-safe.
  virtual void GiveBack() {}
  // Bytes free for jobs now; arrays that nobody uses count as free. Thread-safe.
  virtual std::uint64_t FreeBytes() const = 0;
  // May take milliseconds. Thread-safe: the sampler's thread calls it, and a lane's at the end of a long task.
  virtual DeviceMetrics Sample() = 0;
};

struct DeviceSet {
  std::vector<std::unique_ptr<Device>> devices;
  // Why some devices, plug-ins or libraries are not used, one sentence each.
  std::vector<std::string> notes;
  // The plug-in and libraries that the devices use, one sentence each.
  std::vector<std::string> sources;
};

struct CpuOptions {
  int index = 0;  // "cpu0", "cpu1", …
  int lanes = 2;
  int threads = 0;                 // of all lanes together; 0: the limit by affinity and cgroup
  std::uint64_t memory_bytes = 0;  // 0: the limit of the cgroup, else the machine's memory
};

// kernels/devices/cpu: one device, with threads of its own.
std::unique_ptr<Device> OpenCpuDevice(const CpuOptions& options);

struct CudaOptions {
  int lanes = 2;
  // Where libhotplate_cuda<major>.so is searched; empty: the running program's folder.
  std::string plugin_folder;
  // The driver's library; empty: the environment's HOTPLATE_CUDA_DRIVER_LIBRARY, else libcuda.so.1.
  std::string driver_library;
  // Indices in the driver's list; empty: all. A note for each that does not exist.
  std::vector<int> indices;
  // Slurm's own numbers of the given GPUs; empty: unknown. A note for each open device that is not among them.
  std::vector<int> given;
  // For each device: threads that help its lanes to copy, and host memory that may be pinned for copies. A lane needs 8
  // MiB of it, and so do uploads ahead of tasks, and copies to the host after them.
  int copy_threads = 0;
  std::uint64_t pinned_bytes = std::uint64_t{64} << 20;
  // For expressions that were compiled (compiler/cubin_cache.h); empty: they are kept in memory only.
  std::string cubins;
  // Called with a device's messages while it works (its loss), one line at a time, on any thread. May be empty.
  std::function<void(const std::string& line)> log;
};

// kernels/devices/cuda/loader: opens libcuda.so.1, then the newest working plug-in. Without a driver, plug-in or device
// there are zero devices and a note, never an error.
DeviceSet OpenCudaDevices(const CudaOptions& options, const Catalog& catalog);

}  // namespace hotplate
