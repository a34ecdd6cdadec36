#include <algorithm>
#include <cstdio>
#include <cstring>

#include "kernels/devices/cuda/executor/executor.h"

namespace hotplate {
namespace {

// Kept free for other uses: modules loaded at their first launch, library workspaces, local memory.
constexpr std::uint64_t kReservedBytes = std::uint64_t{256} << 20;

// A library's modules and handle; cuBLAS needs most.
constexpr std::uint64_t kLibraryBytes = std::uint64_t{512} << 20;

// Estimates only (CudaTraits): FP32 units of a multiprocessor, at the low end of the supported architectures.
constexpr double kFloatUnits = 64;

// The bytes that an idle device's pool keeps, and how long after its last task a device is idle.
constexpr std::uint64_t kIdlePoolBytes = std::uint64_t{64} << 20;
constexpr std::chrono::seconds kIdleAfter{5};

// If free memory is fragmented, at least this much more is taken from resident arrays.
constexpr std::uint64_t kLeastEvicted = std::uint64_t{32} << 20;

// Upper bound on the context's own part of the memory in use at the start. The rest belongs to other processes, and
// only for now.
std::uint64_t MostContextBytes(std::uint64_t total_bytes) { return std::min(total_bytes / 8, std::uint64_t{1} << 30); }

void FormatUuid(const DriverUuid& uuid, bool mig, char (&text)[64]) {
  const unsigned char* const b = uuid.bytes;
  std::snprintf(text, sizeof text, "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                mig ? "MIG" : "GPU", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
                b[13], b[14], b[15]);
}

}  // namespace

DeviceExecutor::DeviceExecutor(const hotplate_cuda_device_options& options, hotplate_cuda_log log, void* user)
    : options_(options),
      log_(log),
      log_user_(user),
      pinned_(driver_, options.pinned_bytes),
      copy_threads_(options.copy_threads) {}

std::unique_ptr<DeviceExecutor> DeviceExecutor::Open(const hotplate_cuda_device_options& options, hotplate_cuda_log log,
                                                     void* user, Outcome& why) {
  std::unique_ptr<DeviceExecutor> device(new DeviceExecutor(options, log, user));
  why = device->Initialise();
  if (why.ok()) return device;
  if (why.code() != HOTPLATE_OUT_OF_MEMORY && device->IsBroken()) why = Outcome::DeviceLost(why.message());
  return nullptr;
}

DeviceExecutor::~DeviceExecutor() {
  if (context_ == nullptr) return;
  static_cast<void>(Enter());
  upload_staging_.reset();
  resident_.Clear();
  write_back_staging_.reset();
  pinned_.Clear();
  code_.Clear();
  pool_.reset();
  static_cast<void>(driver_.cuDevicePrimaryCtxRelease(device_));
}

Outcome DeviceExecutor::Initialise() {
  if (const Outcome o = Driver::Load(options_.driver_library, driver_); !o.ok()) return o;
  if (const Outcome o = Describe(); !o.ok()) return o;
  if (const Outcome o = MakeContext(); !o.ok()) return o;
  if (const Outcome o = MakePool(); !o.ok()) return o;
  return resident_.Initialise();
}

bool DeviceExecutor::IsBroken() const {
  std::size_t free_bytes = 0, total_bytes = 0;
  return context_ != nullptr && (!Enter().ok() || driver_.cuMemGetInfo(&free_bytes, &total_bytes) != kDriverOk);
}

Outcome DeviceExecutor::Describe() {
  if (const Outcome o = driver_.Check(driver_.cuDeviceGet(&device_, options_.index), "finding the device"); !o.ok()) {
    return o;
  }
  int pools = 0, clock_khz = 0, ratio = 2;
  const struct {
    DriverAttribute attribute;
    int* value;
    const char* what;
  } attributes[] = {
      {kAttributeComputeMode, &compute_mode_, "reading the compute mode"},
      {kAttributeMemoryPools, &pools, "asking for memory pools"},
      {kAttributeClockKhz, &clock_khz, "reading the clock rate"},
      {kAttributeSingleToDoubleRatio, &ratio, "reading the float64 performance ratio"},
      {kAttributeComputeMajor, &info_.compute_major, "reading the compute capability"},
      {kAttributeComputeMinor, &info_.compute_minor, "reading the compute capability"},
      {kAttributeMultiprocessors, &info_.multiprocessors, "counting the multiprocessors"},
  };
  for (const auto& row : attributes) {
    const Outcome o = driver_.Check(driver_.cuDeviceGetAttribute(row.value, row.attribute, device_), row.what);
    if (!o.ok()) return o;
  }
  if (compute_mode_ == kComputeModeProhibited) {
    return Outcome::Failed("its compute mode is PROHIBITED (its administrator can allow use: nvidia-smi -c 0)");
  }
  if (pools == 0) return Outcome::Failed("its driver offers no memory pools (cuMemAllocFromPoolAsync)");

  const int name_bytes = sizeof info_.name, bus_bytes = sizeof info_.pci_bus_id;
  DriverUuid uuid{};
  if (const Outcome o = driver_.Check(driver_.cuDeviceGetName(info_.name, name_bytes, device_), "reading the name");
      !o.ok()) {
    return o;
  }
  if (const Outcome o = driver_.Check(driver_.cuDeviceGetUuid(&uuid, device_), "reading the UUID"); !o.ok()) return o;
  if (const Outcome o =
          driver_.Check(driver_.cuDeviceGetPCIBusId(info_.pci_bus_id, bus_bytes, device_), "reading the bus id");
      !o.ok()) {
    return o;
  }
  const bool mig = std::strstr(info_.name, " MIG ") != nullptr;
  FormatUuid(uuid, mig, info_.uuid);
  std::snprintf(info_.mode, sizeof info_.mode, "%s",
                mig                                             ? "MIG"
                : compute_mode_ == kComputeModeExclusiveProcess ? "EXCLUSIVE_PROCESS"
                                                                : "");
  traits_.compute_major = info_.compute_major;
  traits_.compute_minor = info_.compute_minor;
  info_.multiprocessors = traits_.multiprocessors = std::max(info_.multiprocessors, 1);
  traits_.cycles_per_ms = std::max(clock_khz, 100'000);
  traits_.float_operations_per_ms = kFloatUnits * traits_.multiprocessors * traits_.cycles_per_ms;
  traits_.double_operations_per_ms = traits_.float_operations_per_ms / std::max(ratio, 1);
  return Outcome::Ok();
}

Outcome DeviceExecutor::MakeContext() {
  CUctx_st* context = nullptr;
  const int made = driver_.cuDevicePrimaryCtxRetain(&context, device_);
  if (made == kDriverDeviceUnavailable) {
    return Outcome::Failed(compute_mode_ == kComputeModeExclusiveProcess
                               ? "its compute mode is EXCLUSIVE_PROCESS and another process has it"
                               : "it is busy or unavailable (CUDA_ERROR_DEVICE_UNAVAILABLE)");
  }
  if (const Outcome o = driver_.Check(made, "making the context"); !o.ok()) return o;
  context_ = context;
  if (const Outcome o = Enter(); !o.ok()) return o;
  // With the context there, whether there is code for the device.
  const Outcome probed = ThisKernelSide().probe();
  if (probed.code() != HOTPLATE_INVALID) return probed;
  char text[200];
  std::snprintf(text, sizeof text, "compute capability %d.%d has no code in this plug-in (it has %.100s)",
                info_.compute_major, info_.compute_minor, ThisKernelSide().architectures);
  return Outcome::Failed(text);
}

Outcome DeviceExecutor::MakePool() {
  std::size_t free_bytes = 0, total_bytes = 0;
  if (const Outcome o = driver_.Check(driver_.cuMemGetInfo(&free_bytes, &total_bytes), "reading the free memory");
      !o.ok()) {
    return o;
  }
  const std::uint64_t used_bytes = total_bytes - std::min(free_bytes, total_bytes);
  const std::uint64_t kept_away = std::min(used_bytes, MostContextBytes(total_bytes)) + kReservedBytes;
  info_.memory_bytes = total_bytes > kept_away ? total_bytes - kept_away : 0;
  DriverPoolProperties properties;
  properties.location_id = device_;
  CUmemPoolHandle_st* pool = nullptr;
  if (const Outcome o = driver_.Check(driver_.cuMemPoolCreate(&pool, &properties), "making the memory pool"); !o.ok()) {
    return o;
  }
  pool_ = OwnedPool(pool, {driver_.cuMemPoolDestroy});
  // Freed memory stays mapped, so that the next task of that size need not map it again. The threshold applies to the
  // whole pool, resident arrays included: with a lower one, every task would map its memory again if there are many of
  // them. Memory needed elsewhere is given back on demand (MakeRoomAfter, AllocateWithRoom) and by Rest.
  std::uint64_t kept_bytes = info_.memory_bytes;
  return driver_.Check(driver_.cuMemPoolSetAttribute(pool, kPoolReleaseThreshold, &kept_bytes),
                       "setting up the memory pool");
}

Outcome DeviceExecutor::Enter() const {
  return driver_.Check(driver_.cuCtxSetCurrent(context_), "entering the context");
}

Outcome DeviceExecutor::Usable() const {
  if (!lost_.load(std::memory_order_acquire)) return Outcome::Ok();
  const MutexLock lock(mutex_);
  return Outcome::DeviceLost(why_lost_);
}

Outcome DeviceExecutor::CheckPrecision(int precision) const {
  const int least = LeastComputeMajor(precision);
  if (info_.compute_major >= least) return Outcome::Ok();
  char text[240];
  std::snprintf(text, sizeof text,
                "precision %s needs compute capability %d.0 or later, and this device (%.80s) has %d.%d; leave "
                "--precision out",
                PrecisionName(precision), least, info_.name, info_.compute_major, info_.compute_minor);
  return Outcome::Invalid(text);
}

Outcome DeviceExecutor::Shrink(std::uint64_t keep) {
  // The pool gives back only memory whose free the host has seen completed. Lanes with a running kernel are not waited
  // for. The other lanes' streams hold only copies and such frees, and no kernel is added to them while mutex_ is held.
  const auto wait = [this](CUstream_st* stream) {
    return driver_.Check(driver_.cuStreamSynchronize(stream), "waiting for the device");
  };
  {
    const MutexLock lock(mutex_);
    for (const LaneExecutor* lane : lanes_) {
      if (std::find(running_.begin(), running_.end(), lane) != running_.end()) continue;
      if (const Outcome idle = wait(lane->stream()); !idle.ok()) return idle;
    }
  }
  if (const Outcome idle = wait(resident_.stream()); !idle.ok()) return idle;
  return driver_.Check(driver_.cuMemPoolTrimTo(pool_.get(), keep), "trimming the memory pool");
}

Outcome DeviceExecutor::FromPool(std::uint64_t bytes, CUstream_st* stream, DevicePointer& block) {
  const int made = driver_.cuMemAllocFromPoolAsync(&block, bytes, pool_.get(), stream);
  if (made == kDriverOk) {
    task_bytes_ += bytes;
    Touch();
  }
  return driver_.Check(made, "device memory");
}

Outcome DeviceExecutor::AllocateAtOnce(std::uint64_t bytes, CUstream_st* stream, DevicePointer& block) {
  const SharedLock lock(allocating_);
  // Memory left for modules and libraries is not used for copies of arrays.
  const std::uint64_t taken = task_bytes_ + resident_.bytes();
  const std::uint64_t left = info_.memory_bytes - std::min(taken, info_.memory_bytes);
  if (bytes > left && bytes - left <= resident_.idle_bytes()) resident_.Evict(bytes - left, stream);
  return FromPool(bytes, stream, block);
}

Outcome DeviceExecutor::TryAllocate(std::uint64_t bytes, CUstream_st* stream, DevicePointer& block) {
  const Outcome made = AllocateAtOnce(bytes, stream, block);
  if (made.code() != HOTPLATE_OUT_OF_MEMORY) return made;
  // An upload uses its array while a piece of it is copied, and a task goes before it.
  const MutexLock lock(uploading_);
  return AllocateWithRoom(bytes, stream, block);
}

Outcome DeviceExecutor::AllocateWithRoom(std::uint64_t bytes, CUstream_st* stream, DevicePointer& block) {
  const AloneLock lock(allocating_);
  for (std::uint64_t least = 1;; least = std::max({2 * least, bytes / 4, kLeastEvicted})) {
    // Memory that the pool keeps for other sizes may be in the way: give it back, and try once more.
    if (const Outcome o = Shrink(0); !o.ok()) return o;
    const Outcome made = FromPool(bytes, stream, block);
    if (made.code() != HOTPLATE_OUT_OF_MEMORY) return made;
    const std::uint64_t unclaimed = UnclaimedBytes();
    const std::uint64_t missing = bytes > unclaimed ? bytes - unclaimed : 0;
    // Arrays that would not free enough stay. If enough is free but fragmented, more and more of them go.
    if (missing > resident_.idle_bytes() || resident_.Evict(std::max(missing, least), stream) == 0) return made;
  }
}

bool DeviceExecutor::MakeRoomAfter(const Outcome& outcome, bool by_library) {
  if (outcome.code() == HOTPLATE_FAILED && by_library) {
    // A library that cannot load its code or make its handle for lack of memory seldom says so.
    hotplate_cuda_sample sample{};
    if (!Sample(sample) || sample.memory_total_bytes - sample.memory_used_bytes >= kLibraryBytes) return false;
  } else if (outcome.code() != HOTPLATE_OUT_OF_MEMORY) {
    return false;
  }
  const MutexLock uploads(uploading_);
  const AloneLock lock(allocating_);
  const auto reserved = [this] {
    std::uint64_t bytes = 0;
    static_cast<void>(driver_.cuMemPoolGetAttribute(pool_.get(), kPoolReservedCurrent, &bytes));
    return bytes;
  };
  const std::uint64_t before = reserved();
  resident_.Evict(kLibraryBytes, resident_.stream());
  return Shrink(0).ok() && reserved() < before;
}

Outcome DeviceExecutor::Allocate(std::uint64_t bytes, const LaneExecutor& lane, DevicePointer& block) {
  const Outcome made = TryAllocate(bytes, lane.stream(), block);
  if (made.code() != HOTPLATE_OUT_OF_MEMORY) return made;
  const std::uint64_t free = FreeBytes();
  char text[240];
  std::snprintf(text, sizeof text, "out of device memory on gpu%d: %llu bytes needed, %llu bytes free%s", index(),
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(free),
                free < bytes ? "" : ", but not in one piece");
  return Outcome::OutOfMemory(text);
}

Outcome DeviceExecutor::Free(DevicePointer block, std::uint64_t bytes, CUstream_st* stream) {
  task_bytes_ -= bytes;
  return driver_.Check(driver_.cuMemFreeAsync(block, stream), "freeing device memory");
}

void DeviceExecutor::Begin(const LaneExecutor& lane) {
  const MutexLock lock(mutex_);
  running_.push_back(&lane);
}

void DeviceExecutor::Returned(const LaneExecutor& lane) {
  {
    const MutexLock lock(mutex_);
    std::erase(running_, &lane);
  }
  Touch();
}

void DeviceExecutor::Touch() {
  const MutexLock lock(mutex_);
  shrunk_ = false;
  last_touched_ = std::chrono::steady_clock::now();
}

void DeviceExecutor::Rest(std::chrono::steady_clock::time_point now) {
  const auto idle = [&] {
    const MutexLock lock(mutex_);
    return !shrunk_ && running_.empty() && now - last_touched_ >= kIdleAfter;
  };
  if (!Usable().ok() || !idle()) return;
  if (!allocating_.TryLock()) return;
  const AloneLock lock(allocating_, std::adopt_lock);
  if (!idle() || !Enter().ok()) return;
  // Should this fail, the device's next task finds out why.
  static_cast<void>(Shrink(kIdlePoolBytes));
  const MutexLock done(mutex_);
  shrunk_ = true;
}

void DeviceExecutor::GiveBack() {
  if (!Usable().ok() || !Enter().ok()) return;
  const AloneLock lock(allocating_);
  // Should this fail, the device's next task finds out why.
  static_cast<void>(Shrink(0));
}

Outcome DeviceExecutor::Judge(const Outcome& failure, const LaneExecutor* lane, const std::string& what,
                              CUstream_st* stream) {
  if (const Outcome usable = Usable(); !usable.ok()) return usable;
  // A context with a sticky error returns it for every call; a healthy one returns the state of the stream.
  const int state = driver_.cuStreamQuery(stream);
  if (state == kDriverOk || state == kDriverNotReady) return failure;
  char text[sizeof hotplate_outcome::message];
  {
    const MutexLock lock(mutex_);
    if (!why_lost_.empty()) return Outcome::DeviceLost(why_lost_);
    std::snprintf(text, sizeof text, "gpu%d is lost: %.48s failed: %.120s%.30s", index(), what.c_str(),
                  std::string(failure.message()).c_str(), Neighbours(lane).c_str());
    why_lost_ = text;
    lost_.store(true, std::memory_order_release);
  }
  resident_.Abandon();
  if (log_ != nullptr) log_(log_user_, text);
  return Outcome::DeviceLost(text);
}

std::string DeviceExecutor::Neighbours(const LaneExecutor* lane) const {
  std::string names;
  for (const LaneExecutor* other : lanes_) {
    const char* const kernel = other == lane ? nullptr : other->kernel();
    if (kernel != nullptr) names += (names.empty() ? ", beside " : ", ") + std::string(kernel);
  }
  return names;
}

std::uint64_t DeviceExecutor::UnclaimedBytes() const {
  hotplate_cuda_sample sample{};
  if (!Sample(sample)) return 0;
  const std::uint64_t idle = sample.pool_reserved_bytes - std::min(sample.pool_used_bytes, sample.pool_reserved_bytes);
  const std::uint64_t device_free = sample.memory_total_bytes - sample.memory_used_bytes;
  const std::uint64_t free = device_free > kReservedBytes ? device_free - kReservedBytes : 0;
  return free + idle;
}

std::uint64_t DeviceExecutor::FreeBytes() const {
  if (!Usable().ok()) return 0;
  return std::min(UnclaimedBytes() + resident_.idle_bytes(), info_.memory_bytes);
}

bool DeviceExecutor::Sample(hotplate_cuda_sample& sample) const {
  if (!Usable().ok()) return false;
  std::size_t free_bytes = 0, total_bytes = 0;
  const auto read = [this](DriverPoolAttribute attribute, std::uint64_t& value) {
    return driver_.cuMemPoolGetAttribute(pool_.get(), attribute, &value) == kDriverOk;
  };
  if (!Enter().ok() || driver_.cuMemGetInfo(&free_bytes, &total_bytes) != kDriverOk ||
      !read(kPoolReservedCurrent, sample.pool_reserved_bytes) || !read(kPoolUsedCurrent, sample.pool_used_bytes) ||
      !read(kPoolUsedHigh, sample.pool_peak_bytes)) {
    return false;
  }
  sample.memory_total_bytes = total_bytes;
  sample.memory_used_bytes = total_bytes - std::min(free_bytes, total_bytes);
  sample.pinned_bytes = pinned_.pinned_bytes();
  sample.pinned_peak_bytes = pinned_.peak_bytes();
  sample.resident_bytes = resident_.bytes();
  sample.resident_arrays = resident_.count();
  return true;
}

void DeviceExecutor::Add(const LaneExecutor& lane) {
  const MutexLock lock(mutex_);
  lanes_.push_back(&lane);
  running_.reserve(lanes_.size());  // so that no task fails for lack of memory there
}

void DeviceExecutor::Remove(const LaneExecutor& lane) {
  const MutexLock lock(mutex_);
  std::erase(lanes_, &lane);
}

}  // namespace hotplate
