// Memory of the fake driver's devices: pools, blocks that streams free in their turn, and pinned memory of the host.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/fakes/cuda/fake_driver.h"

namespace hotplate {

int FakeDriver::MemoryInfo(std::size_t* free, std::size_t* total) {
  if (const int error = CallInContext("cuMemGetInfo_v2")) return error;
  const std::lock_guard lock(mutex_);
  *total = script_.memory_bytes;
  *free = Unreserved(current_->device);
  return 0;
}

int FakeDriver::MakePool(CUmemPoolHandle_st** pool, const DriverPoolProperties* properties) {
  if (const int error = CallInContext("cuMemPoolCreate")) return error;
  const std::lock_guard lock(mutex_);
  auto made = std::make_unique<CUmemPoolHandle_st>();
  made->device = properties->location_id;
  *pool = made.get();
  pools_.emplace(made.get(), std::move(made));
  return 0;
}

int FakeDriver::DestroyPool(CUmemPoolHandle_st* pool) {
  if (const int error = CallInContext("cuMemPoolDestroy")) return error;
  const std::lock_guard lock(mutex_);
  if (!pools_.contains(pool)) misuse_.emplace_back("an unknown pool is destroyed");
  for (auto& [address, block] : blocks_) {
    if (block.pool == pool && !block.freed) misuse_.emplace_back("a pool is destroyed that has blocks");
  }
  ForgetMemory([pool](const CUmemPoolHandle_st* one) { return one == pool; });
  return 0;
}

int FakeDriver::PoolAttribute(CUmemPoolHandle_st* pool, int attribute, void* value, bool set) {
  if (const int error = CallInContext(set ? "cuMemPoolSetAttribute" : "cuMemPoolGetAttribute")) return error;
  const std::lock_guard lock(mutex_);
  if (!pools_.contains(pool)) return kInvalidHandle;
  std::uint64_t* slot = nullptr;
  if (attribute == kPoolReleaseThreshold) slot = &pool->threshold;
  if (attribute == kPoolReservedCurrent) slot = &pool->reserved;
  if (attribute == kPoolReservedHigh) slot = &pool->reserved_high;
  if (attribute == kPoolUsedCurrent) slot = &pool->used;
  if (attribute == kPoolUsedHigh) slot = &pool->used_high;
  if (slot == nullptr) return kInvalidValue;
  set ? std::memcpy(slot, value, sizeof *slot) : std::memcpy(value, slot, sizeof *slot);
  return 0;
}

int FakeDriver::Trim(CUmemPoolHandle_st* pool, std::uint64_t keep) {
  if (const int error = CallInContext("cuMemPoolTrimTo")) return error;
  const std::lock_guard lock(mutex_);
  if (!pools_.contains(pool)) return kInvalidHandle;
  Shrink(*pool, keep);
  return 0;
}

int FakeDriver::SetAccess(CUmemPoolHandle_st* pool, const DriverAccess& access) {
  if (const int error = Call("cuMemPoolSetAccess")) return error;
  const std::lock_guard lock(mutex_);
  if (!pools_.contains(pool) || !script_.peers) return kInvalidValue;
  pool->readers.push_back(access.location_id);
  return 0;
}

int FakeDriver::Allocate(DevicePointer* memory, std::uint64_t bytes, CUmemPoolHandle_st* pool, CUstream_st* stream) {
  if (const int error = CallInContext("cuMemAllocFromPoolAsync", bytes)) return error;
  const std::lock_guard lock(mutex_);
  if (!pools_.contains(pool) || !streams_.contains(stream)) return kInvalidHandle;
  if (bytes == 0) return kInvalidValue;
  const auto kept = std::find_if(pool->idle.begin(), pool->idle.end(), [&](const IdleMemory& one) {
    return one.bytes >= bytes && (one.reached || one.stream == stream);
  });
  const bool more = kept == pool->idle.end();
  if (more && bytes > std::min(Unreserved(pool->device), script_.piece_bytes)) return kDriverOutOfMemory;
  void* const made = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (made == nullptr) return kDriverOutOfMemory;
  if (more) {
    pool->reserved += bytes;
  } else {
    kept->bytes -= bytes;
    if (kept->bytes == 0) pool->idle.erase(kept);
  }
  pool->used += bytes;
  pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
  pool->used_high = std::max(pool->used_high, pool->used);
  blocks_[made] = {pool, bytes, false};
  *memory = reinterpret_cast<DevicePointer>(made);
  return 0;
}

int FakeDriver::Free(DevicePointer memory, CUstream_st* stream) {
  if (const int error = CallInContext("cuMemFreeAsync")) return error;
  void* const address = reinterpret_cast<void*>(memory);
  CUmemPoolHandle_st* pool = nullptr;
  std::uint64_t turn = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto block = blocks_.find(address);
    if (block == blocks_.end() || block->second.freed) {
      misuse_.emplace_back("memory is freed that is not there");
      return kInvalidValue;
    }
    block->second.freed = true;
    pool = block->second.pool;
    pool->used -= block->second.bytes;
    turn = streams_.contains(stream) ? ++stream->frees : 0;
    pool->idle.push_back({block->second.bytes, stream, turn, false});
  }
  return Enqueue(stream, [this, address, pool, stream, turn] {
    {
      const std::lock_guard lock(mutex_);
      blocks_.erase(address);
      if (pools_.contains(pool)) {
        for (IdleMemory& one : pool->idle) one.reached |= one.stream == stream && one.turn <= turn;
      }
    }
    std::free(address);
  });
}

int FakeDriver::Pin(void** memory, std::uint64_t bytes) {
  if (const int error = CallInContext("cuMemHostAlloc", bytes)) return error;
  const std::lock_guard lock(mutex_);
  std::uint64_t all = bytes;
  for (const auto& [address, size] : pinned_) all += size;
  if (all > script_.pinnable_bytes) return kDriverOutOfMemory;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  pinned_[*memory] = bytes;
  return 0;
}

int FakeDriver::Unpin(void* memory) {
  if (const int error = Call("cuMemFreeHost")) return error;
  const std::lock_guard lock(mutex_);
  if (pinned_.erase(memory) == 0) {
    misuse_.emplace_back("host memory is freed that is not pinned");
    return kInvalidValue;
  }
  std::free(memory);
  return 0;
}

int FakeDriver::Copy(const char* name, void* to, const void* from, std::uint64_t bytes, bool up, CUstream_st* stream) {
  if (const int error = CallInContext(name, bytes)) return error;
  {
    const std::lock_guard lock(mutex_);
    if (PoolOf(up ? to : from, bytes) == nullptr) misuse_.push_back(std::string(name) + " beyond a block");
    if (!InPinned(up ? from : to, bytes)) misuse_.push_back(std::string(name) + " with memory that is not pinned");
  }
  return Enqueue(stream, [to, from, bytes, stream] {
    if (stream->context->broken == 0) std::memcpy(to, from, bytes);
  });
}

int FakeDriver::CopyBetween(DevicePointer to, CUctx_st* to_context, DevicePointer from, CUctx_st* from_context,
                            std::uint64_t bytes, CUstream_st* stream) {
  if (const int error = CallInContext("cuMemcpyPeerAsync", bytes)) return error;
  void *const end = reinterpret_cast<void*>(to), *const start = reinterpret_cast<void*>(from);
  {
    const std::lock_guard lock(mutex_);
    const CUmemPoolHandle_st *const to_pool = PoolOf(end, bytes), *const from_pool = PoolOf(start, bytes);
    if (to_pool == nullptr || from_pool == nullptr) {
      misuse_.emplace_back("cuMemcpyPeerAsync beyond a block");
    } else if (to_pool->device != to_context->device || from_pool->device != from_context->device) {
      misuse_.emplace_back("cuMemcpyPeerAsync with memory of another device");
    } else if (std::count(from_pool->readers.begin(), from_pool->readers.end(), to_context->device) == 0) {
      misuse_.emplace_back("cuMemcpyPeerAsync without access to the pool");
    }
  }
  return Enqueue(stream, [=] {
    if (to_context->broken == 0 && from_context->broken == 0) std::memcpy(end, start, bytes);
  });
}

void FakeDriver::ForgetMemory(const std::function<bool(const CUmemPoolHandle_st*)>& gone) {
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    const bool take = !block->second.freed && gone(block->second.pool);
    if (take) std::free(block->first);
    block = take ? blocks_.erase(block) : std::next(block);
  }
  std::erase_if(pools_, [&gone](const auto& row) { return gone(row.first); });
}

std::uint64_t FakeDriver::Reserved(int device) const {
  std::uint64_t sum = 0;
  for (const auto& [raw, pool] : pools_) sum += pool->device == device ? pool->reserved : 0;
  return sum;
}

std::uint64_t FakeDriver::Unreserved(int device) const {
  const std::uint64_t taken = Reserved(device) + script_.others_bytes;
  return script_.memory_bytes - std::min(taken, script_.memory_bytes);
}

void FakeDriver::Observe(const CUstream_st* stream, std::uint64_t turn) {
  if (stream == nullptr) return;
  for (auto& [raw, pool] : pools_) {
    IdleMemory together;
    std::erase_if(pool->idle, [&](const IdleMemory& one) {
      const bool seen = one.stream == nullptr || (one.stream == stream && one.turn <= turn);
      if (seen) together.bytes += one.bytes;
      return seen;
    });
    if (together.bytes > 0) pool->idle.push_back(together);
  }
}

void FakeDriver::Shrink(CUmemPoolHandle_st& pool, std::uint64_t keep) {
  std::erase_if(pool.idle, [&](IdleMemory& one) {
    if (one.stream != nullptr || pool.reserved <= keep) return false;
    const std::uint64_t gone = std::min(one.bytes, pool.reserved - keep);
    pool.reserved -= gone;
    one.bytes -= gone;
    return one.bytes == 0;
  });
}

const CUmemPoolHandle_st* FakeDriver::PoolOf(const void* address, std::uint64_t bytes) const {
  auto block = blocks_.upper_bound(const_cast<void*>(address));
  if (block == blocks_.begin()) return nullptr;
  --block;
  const auto begin = reinterpret_cast<std::uintptr_t>(block->first), at = reinterpret_cast<std::uintptr_t>(address);
  return !block->second.freed && at + bytes <= begin + block->second.bytes ? block->second.pool : nullptr;
}

bool FakeDriver::InPinned(const void* address, std::uint64_t bytes) const {
  auto block = pinned_.upper_bound(const_cast<void*>(address));
  if (block == pinned_.begin()) return false;
  --block;
  const auto begin = reinterpret_cast<std::uintptr_t>(block->first), at = reinterpret_cast<std::uintptr_t>(address);
  return at + bytes <= begin + block->second;
}

}  // namespace hotplate
