// A device's resident arrays: pieces that come ahead of tasks, copies to the host and from other devices, ends.
#include <cstdio>

#include "kernels/devices/cuda/executor/executor.h"

namespace hotplate {

ResidentArrays::Use DeviceExecutor::Keep(std::uint64_t identity, std::uint64_t bytes, std::uint64_t copied,
                                         DevicePointer memory, CUstream_st* stream, const ArrayHome& home) {
  // In this order no thread makes room for bytes that are counted twice.
  task_bytes_ -= ResidentArrays::MemoryBytes(bytes);
  return resident_.Add(identity, bytes, copied, memory, stream, home);
}

bool DeviceExecutor::Upload(std::uint64_t identity, std::uint64_t total_bytes, std::uint64_t offset,
                            const std::byte* data, std::uint64_t bytes) {
  const bool sound = identity != 0 && bytes > 0 && offset <= total_bytes && bytes <= total_bytes - offset;
  if (!sound || total_bytes > info_.memory_bytes) return false;
  const MutexLock lock(uploading_);
  if (!Usable().ok() || !Enter().ok()) return false;
  if (upload_staging_ == nullptr) {
    auto made = std::make_unique<Staging>(pinned_, &copy_threads_, copy_helpers());
    if (!made->Initialise().ok()) return false;
    upload_staging_ = std::move(made);
  }
  CUstream_st* const stream = resident_.stream();
  ResidentArrays::Use use = resident_.Find(identity, total_bytes);
  if (!use && offset == 0) {
    DevicePointer memory = 0;
    const std::uint64_t memory_bytes = ResidentArrays::MemoryBytes(total_bytes);
    Outcome made = AllocateAtOnce(memory_bytes, stream, memory);
    if (made.code() == HOTPLATE_OUT_OF_MEMORY) made = AllocateWithRoom(memory_bytes, stream, memory);
    if (!made.ok()) return false;
    use = Keep(identity, total_bytes, 0, memory, stream);
  }
  if (!use) return false;
  hotplate_control control{};
  const CudaContext context(traits_, {.driver = &driver_, .stream = stream}, control);
  const Piece piece{const_cast<std::byte*>(data), offset, bytes};  // only read
  Staging& staging = *upload_staging_;
  const Outcome extended = resident_.Extend(use, offset, offset + bytes, [&] {
    return staging.ToDevice(use.memory(), {&piece, 1}, context);
  });
  // A copy that nobody will wait for must not outlive the hold on its memory.
  if (!extended.ok()) static_cast<void>(driver_.cuStreamSynchronize(stream));
  return extended.ok();
}

bool DeviceExecutor::CanWriteBack() {
  // A task does not wait here for a long copy.
  if (can_write_back_.load(std::memory_order_acquire)) return true;
  const MutexLock lock(writing_back_);
  if (can_write_back_.load(std::memory_order_relaxed)) return true;
  auto staging = std::make_unique<Staging>(pinned_, &copy_threads_, copy_helpers());
  if (!staging->Initialise().ok()) return false;
  write_back_staging_ = std::move(staging);
  can_write_back_.store(true, std::memory_order_release);
  return true;
}

Outcome DeviceExecutor::CopyBack(const std::byte* memory, std::byte* host, std::uint64_t bytes) {
  const MutexLock lock(writing_back_);
  hotplate_control control{};
  const CudaContext context(traits_, {.driver = &driver_, .stream = resident_.stream()}, control);
  const Piece whole{host, 0, bytes};
  const Outcome copied = write_back_staging_->FromDevice(memory, {&whole, 1}, context);
  // The pinned buffers are the next one's.
  if (!copied.ok()) static_cast<void>(driver_.cuStreamSynchronize(resident_.stream()));
  write_back_staging_->Rest();
  return copied;
}

Outcome DeviceExecutor::Fetch(std::uint64_t identity) {
  const MutexLock lock(uploading_);
  if (const Outcome o = Usable(); !o.ok()) return o;
  if (const Outcome o = Enter(); !o.ok()) return o;
  const Outcome fetched = resident_.Fetch(identity);
  return fetched.ok() ? fetched : Judge(fetched, nullptr, "a copy to the host", resident_.stream());
}

Outcome DeviceExecutor::Reach(const DeviceExecutor& other) const {
  int can = 0;
  const Outcome asked =
      driver_.Check(driver_.cuDeviceCanAccessPeer(&can, device_, other.device_), "asking for peer access");
  if (!asked.ok()) return asked;
  if (can == 0) {
    char text[80];
    std::snprintf(text, sizeof text, "gpu%d has no peer access to gpu%d", index(), other.index());
    return Outcome::Failed(text);
  }
  // Each time, since the other one may have another pool by now; the driver does nothing for what it has done already.
  const DriverAccess access{.location_id = device_};
  return driver_.Check(driver_.cuMemPoolSetAccess(other.pool_.get(), &access, 1), "peer access to a memory pool");
}

Outcome DeviceExecutor::CopyFrom(const DeviceExecutor& other, const ResidentArrays::Use& there, std::uint64_t identity,
                                 std::uint64_t bytes, ResidentArrays::Use& here) {
  CUstream_st* const stream = resident_.stream();
  DevicePointer memory = 0;
  const std::uint64_t memory_bytes = ResidentArrays::MemoryBytes(bytes);
  Outcome made = AllocateAtOnce(memory_bytes, stream, memory);
  if (made.code() == HOTPLATE_OUT_OF_MEMORY) made = AllocateWithRoom(memory_bytes, stream, memory);
  if (!made.ok()) return made;
  Outcome copied = other.resident_.Await(there, stream);
  if (copied.ok()) {
    const auto from = reinterpret_cast<DevicePointer>(there.memory());
    copied = driver_.Check(driver_.cuMemcpyPeerAsync(memory, context_, from, other.context_, bytes, stream),
                           "a copy from another device");
  }
  const Outcome over = driver_.Check(driver_.cuStreamSynchronize(stream), "a copy from another device");
  if (copied.ok()) copied = over;
  if (!copied.ok()) {
    static_cast<void>(Free(memory, memory_bytes, stream));
    return copied;
  }
  here = Keep(identity, bytes, bytes, memory, stream);
  return here ? Outcome::Ok() : Outcome::Failed("an array could not be kept on the device");
}

Outcome DeviceExecutor::TakeFrom(DeviceExecutor& other, std::uint64_t identity, std::uint64_t bytes) {
  const MutexLock lock(uploading_);
  if (const Outcome o = Usable(); !o.ok()) return o;
  if (const Outcome o = other.Usable(); !o.ok()) return o;
  if (const Outcome o = Reach(other); !o.ok()) return o;
  ResidentArrays::Use there = other.resident_.Find(identity, bytes);
  if (!there) return Outcome::Ok();  // it was written to the host, and went
  Outcome taken = Enter();
  // It is the one that will have to write it to the host.
  if (taken.ok() && !CanWriteBack()) taken = Outcome::Failed("there is no pinned memory to copy it to the host");
  ResidentArrays::Use here;
  if (taken.ok()) here = resident_.Find(identity, bytes);  // it was this one's before
  if (taken.ok() && !here) taken = CopyFrom(other, there, identity, bytes, here);
  if (taken.ok()) {
    resident_.TakeHome(here, other.resident_, there);
  } else {
    taken = Judge(taken, nullptr, "a copy from another device", resident_.stream());
  }
  here = {};
  // The other one's last user frees it.
  static_cast<void>(other.Enter());
  return taken;
}

void DeviceExecutor::Forget(std::uint64_t identity) {
  resident_.Disown(identity);
  if (!Usable().ok() || !Enter().ok()) return;
  resident_.Forget(identity);
  Touch();
}

}  // namespace hotplate
