// Pinned host memory for staging, shared by a device's lanes and bounded: it counts as memory of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/base/mutex.h"
#include "kernels/devices/cuda/executor/driver.h"

namespace hotplate {

struct StagingBuffer {
  // Large enough that a copy's start does not count, small enough that a buffer is soon full.
  static constexpr std::size_t kBytes = std::size_t{4} << 20;

  PinnedBytes bytes;
  OwnedEvent copied;  // the last copy that used the bytes
};

// Thread-safe. The device's context is current in every call and in the destructor.
class PinnedPool {
 public:
  PinnedPool(const Driver& driver, std::uint64_t limit_bytes) : driver_(driver), limit_bytes_(limit_bytes) {}
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  // An idle buffer, or a new one; none and OUT_OF_MEMORY if that would pass the limit.
  Outcome Take(std::unique_ptr<StagingBuffer>& buffer);
  // Its last copy is over. Buffers stay pinned for the next that asks.
  void GiveBack(std::unique_ptr<StagingBuffer> buffer);
  // Unpins idle buffers.
  void Clear();

  std::uint64_t pinned_bytes() const;
  std::uint64_t peak_bytes() const;  // the most that was in use

 private:
  const Driver& driver_;
  const std::uint64_t limit_bytes_;

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<StagingBuffer>> idle_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t pinned_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t peak_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotplate
