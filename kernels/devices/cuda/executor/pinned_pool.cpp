#include "kernels/devices/cuda/executor/pinned_pool.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace hotplate {

Outcome PinnedPool::Take(std::unique_ptr<StagingBuffer>& buffer) {
  const MutexLock lock(mutex_);
  if (!idle_.empty()) {
    buffer = std::move(idle_.back());
    idle_.pop_back();
  } else {
    if (limit_bytes_ < StagingBuffer::kBytes || pinned_bytes_ > limit_bytes_ - StagingBuffer::kBytes) {
      char text[160];
      std::snprintf(text, sizeof text, "pinned host memory: %llu bytes are in use, and the limit is %llu bytes",
                    static_cast<unsigned long long>(used_bytes_), static_cast<unsigned long long>(limit_bytes_));
      return Outcome::OutOfMemory(text);
    }
    // Under the lock: pinning is slow, and happens a few times in a daemon's life.
    auto made = std::make_unique<StagingBuffer>();
    if (const Outcome o = PinBytes(driver_, StagingBuffer::kBytes, made->bytes); !o.ok()) return o;
    if (const Outcome o = MakeEvent(driver_, kEventDisableTiming, made->copied); !o.ok()) return o;
    idle_.reserve(idle_.size() + pinned_bytes_ / StagingBuffer::kBytes + 1);  // GiveBack allocates nothing
    pinned_bytes_ += StagingBuffer::kBytes;
    buffer = std::move(made);
  }
  used_bytes_ += StagingBuffer::kBytes;
  peak_bytes_ = std::max(peak_bytes_, used_bytes_);
  return Outcome::Ok();
}

void PinnedPool::GiveBack(std::unique_ptr<StagingBuffer> buffer) {
  const MutexLock lock(mutex_);
  used_bytes_ -= StagingBuffer::kBytes;
  idle_.push_back(std::move(buffer));
}

void PinnedPool::Clear() {
  const MutexLock lock(mutex_);
  pinned_bytes_ -= idle_.size() * StagingBuffer::kBytes;
  idle_.clear();
}

std::uint64_t PinnedPool::pinned_bytes() const {
  const MutexLock lock(mutex_);
  return pinned_bytes_;
}

std::uint64_t PinnedPool::peak_bytes() const {
  const MutexLock lock(mutex_);
  return peak_bytes_;
}

}  // namespace hotplate
