#include <algorithm>
#include <cstdio>
#include <cstring>

#include "kernels/cuda/executor.h"
#include "kernels/cuda/probe.h"

namespace hotplate {
namespace {

// Left to what is not the pool's: modules that are loaded at their first launch, library workspaces, local memory.
constexpr std::uint64_t kReservedBytes = std::uint64_t{256} << 20;

// Estimates only (CudaTraits): FP32 units of a multiprocessor, at the low end of the supported architectures.
constexpr double kFloatUnits = 64;

Outcome Attribute(int* value, cudaDeviceAttr attribute, int index, const char* what) {
  return ToOutcome(cudaDeviceGetAttribute(value, attribute, index), what);
}

void FormatUuid(const cudaUUID_t& uuid, bool mig, char (&text)[64]) {
  unsigned char b[16];
  static_assert(sizeof b == sizeof uuid.bytes);
  std::memcpy(b, uuid.bytes, sizeof b);
  std::snprintf(text, sizeof text, "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                mig ? "MIG" : "GPU", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
                b[13], b[14], b[15]);
}

}  // namespace

std::unique_ptr<DeviceExecutor> DeviceExecutor::Open(int index, hotplate_cuda_log log, void* user, Outcome& why) {
  std::unique_ptr<DeviceExecutor> device(new DeviceExecutor(index, log, user));
  why = device->Initialise();
  if (!why.ok()) device.reset();
  return device;
}

Outcome DeviceExecutor::Initialise() {
  int compute_mode = 0, pools = 0, clock_khz = 0, ratio = 2;
  if (const Outcome o = Attribute(&compute_mode, cudaDevAttrComputeMode, index_, "compute mode"); !o.ok()) return o;
  if (compute_mode == cudaComputeModeProhibited) {
    return Outcome::Failed("its compute mode is PROHIBITED (nvidia-smi -c 0 allows use)");
  }
  cudaDeviceProp properties{};
  if (const Outcome o = ToOutcome(cudaGetDeviceProperties(&properties, index_), "properties"); !o.ok()) return o;
  if (const Outcome o = Attribute(&pools, cudaDevAttrMemoryPoolsSupported, index_, "memory pools"); !o.ok()) return o;
  if (pools == 0) return Outcome::Failed("its driver offers no memory pools (cudaMallocAsync)");
  if (const Outcome o = Attribute(&clock_khz, cudaDevAttrClockRate, index_, "clock rate"); !o.ok()) return o;
  if (const Outcome o =
          Attribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, index_, "float64 performance ratio");
      !o.ok()) {
    return o;
  }
  if (const cudaError_t error = cudaSetDevice(index_); error != cudaSuccess) {
    if (error != cudaErrorDevicesUnavailable) return ToOutcome(error, "making the context");
    static_cast<void>(cudaGetLastError());
    return Outcome::Failed(compute_mode == cudaComputeModeExclusiveProcess
                               ? "its compute mode is EXCLUSIVE_PROCESS and another process has it"
                               : "it is busy or unavailable (cudaErrorDevicesUnavailable)");
  }
  // The context is there from here on; this call finds out whether there is code for the device.
  if (const cudaError_t error = ProbeDeviceCode(); error != cudaSuccess) {
    if (error != cudaErrorNoKernelImageForDevice) return ToOutcome(error, "looking for device code");
    static_cast<void>(cudaGetLastError());
    char text[160];
    std::snprintf(text, sizeof text, "compute capability %d.%d has no code in this plug-in (it has %s)",
                  properties.major, properties.minor, HOTPLATE_CUDA_ARCHITECTURES);
    return Outcome::Failed(text);
  }

  std::size_t free_bytes = 0, total_bytes = 0;
  if (const Outcome o = ToOutcome(cudaMemGetInfo(&free_bytes, &total_bytes), "memory"); !o.ok()) return o;
  info_.memory_bytes = free_bytes > kReservedBytes ? free_bytes - kReservedBytes : 0;

  cudaMemPoolProps pool_properties{};
  pool_properties.allocType = cudaMemAllocationTypePinned;
  pool_properties.location.type = cudaMemLocationTypeDevice;
  pool_properties.location.id = index_;
  cudaMemPool_t pool = nullptr;
  if (const Outcome o = ToOutcome(cudaMemPoolCreate(&pool, &pool_properties), "memory pool"); !o.ok()) return o;
  pool_.reset(pool);
  // What was freed stays mapped up to this many bytes, so that the next task of that size need not map it again.
  std::uint64_t kept_bytes = info_.memory_bytes / 2;
  if (const Outcome o =
          ToOutcome(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept_bytes), "memory pool");
      !o.ok()) {
    return o;
  }

  std::snprintf(info_.name, sizeof info_.name, "%s", properties.name);
  const bool mig = std::strstr(properties.name, " MIG ") != nullptr;
  FormatUuid(properties.uuid, mig, info_.uuid);
  if (const Outcome o = ToOutcome(cudaDeviceGetPCIBusId(info_.pci_bus_id, sizeof info_.pci_bus_id, index_), "bus id");
      !o.ok()) {
    return o;
  }
  std::snprintf(info_.mode, sizeof info_.mode, "%s",
                mig                                               ? "MIG"
                : compute_mode == cudaComputeModeExclusiveProcess ? "EXCLUSIVE_PROCESS"
                                                                  : "");
  info_.compute_major = traits_.compute_major = properties.major;
  info_.compute_minor = traits_.compute_minor = properties.minor;
  info_.multiprocessors = traits_.multiprocessors = std::max(properties.multiProcessorCount, 1);
  traits_.cycles_per_ms = std::max(clock_khz, 100'000);
  traits_.float_operations_per_ms = kFloatUnits * traits_.multiprocessors * traits_.cycles_per_ms;
  traits_.double_operations_per_ms = traits_.float_operations_per_ms / std::max(ratio, 1);
  return Outcome::Ok();
}

Outcome DeviceExecutor::Usable() const {
  if (!lost_.load(std::memory_order_acquire)) return Outcome::Ok();
  const std::lock_guard lock(mutex_);
  return Outcome::DeviceLost(why_lost_);
}

Outcome DeviceExecutor::Judge(const Outcome& failure, const char* kernel, cudaStream_t stream) {
  if (const Outcome usable = Usable(); !usable.ok()) return usable;
  // A context whose error stays answers every call with it; a healthy one answers with the state of the stream.
  const cudaError_t state = cudaStreamQuery(stream);
  if (state == cudaSuccess || state == cudaErrorNotReady) return failure;
  static_cast<void>(cudaGetLastError());
  char text[250];
  std::snprintf(text, sizeof text, "gpu%d is lost since kernel %s failed: %.140s; restart hotplated to use it again",
                index_, kernel, std::string(failure.message()).c_str());
  {
    const std::lock_guard lock(mutex_);
    if (why_lost_.empty()) why_lost_ = text;
  }
  lost_.store(true, std::memory_order_release);
  Log(text);
  return Outcome::DeviceLost(text);
}

std::uint64_t DeviceExecutor::FreeBytes() const {
  hotplate_cuda_sample sample{};
  if (!Sample(sample)) return 0;
  const std::uint64_t idle = sample.pool_reserved_bytes - std::min(sample.pool_used_bytes, sample.pool_reserved_bytes);
  const std::uint64_t device_free = sample.memory_total_bytes - sample.memory_used_bytes;
  const std::uint64_t free = device_free > kReservedBytes ? device_free - kReservedBytes : 0;
  return std::min(free + idle, info_.memory_bytes);
}

bool DeviceExecutor::Sample(hotplate_cuda_sample& sample) const {
  if (!Usable().ok()) return false;
  std::size_t free_bytes = 0, total_bytes = 0;
  const auto read = [this](cudaMemPoolAttr attribute, std::uint64_t& value) {
    return ToOutcome(cudaMemPoolGetAttribute(pool_.get(), attribute, &value), "memory pool").ok();
  };
  if (!ToOutcome(cudaSetDevice(index_), "device").ok() ||
      !ToOutcome(cudaMemGetInfo(&free_bytes, &total_bytes), "memory").ok() ||
      !read(cudaMemPoolAttrReservedMemCurrent, sample.pool_reserved_bytes) ||
      !read(cudaMemPoolAttrUsedMemCurrent, sample.pool_used_bytes) ||
      !read(cudaMemPoolAttrUsedMemHigh, sample.pool_peak_bytes)) {
    return false;
  }
  sample.memory_total_bytes = total_bytes;
  sample.memory_used_bytes = total_bytes - std::min(free_bytes, total_bytes);
  return true;
}

void DeviceExecutor::Log(const std::string& line) const {
  if (log_ != nullptr) log_(log_user_, line.c_str());
}

}  // namespace hotplate
