// A device's resident arrays: pieces that come ahead of tasks, copies to the host, ends.
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

void DeviceExecutor::Forget(std::uint64_t identity) {
  resident_.Disown(identity);
  if (!Usable().ok() || !Enter().ok()) return;
  resident_.Forget(identity);
  Touch();
}

}  // namespace hotplate
