// Host memory for arrays and results, counted against one limit until the last user of a buffer lets go.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/array/host_buffer.h"
#include "server/core/arrays/device_copies.h"

namespace hotplate::core {

// RESOURCE_EXHAUSTED for want of memory, which the field "memory" tells from a full queue and the like.
absl::Status NoMemory(std::string description);

class CountedMemory : public std::enable_shared_from_this<CountedMemory> {
 public:
  // A limit of 0 bytes is none.
  explicit CountedMemory(std::uint64_t limit) : limit_(limit) {}

  // RESOURCE_EXHAUSTED, with what is held and the limit. The buffer keeps the count alive, and may outlive all else.
  // `soon_free` bytes are about to be released by the caller and do not count against the limit. With an
  // identity (NewIdentity), of what does not change once it is complete, its end is told to `copies`.
  absl::StatusOr<std::shared_ptr<HostBuffer>> Allocate(std::uint64_t bytes, std::uint64_t soon_free = 0,
                                                       std::uint64_t identity = 0,
                                                       const std::shared_ptr<DeviceCopies>& copies = nullptr);

  // The bytes that would have to be freed first; 0 where that is not what is wrong.
  std::uint64_t Missing(std::uint64_t bytes, std::uint64_t soon_free) const {
    const std::uint64_t all = held(), stay = all - std::min(all, soon_free);
    return limit_ == 0 || bytes > limit_ || stay <= limit_ - bytes ? 0 : stay - (limit_ - bytes);
  }
  // Whether there would be room, after `soon_free` bytes have been released.
  bool HasRoom(std::uint64_t bytes, std::uint64_t soon_free) const { return Fits(bytes, soon_free, held()); }

  std::uint64_t held() const { return held_.load(std::memory_order_relaxed); }

 private:
  bool Fits(std::uint64_t bytes, std::uint64_t soon_free, std::uint64_t held) const;

  const std::uint64_t limit_;
  std::atomic<std::uint64_t> held_{0};
};

}  // namespace hotplate::core
