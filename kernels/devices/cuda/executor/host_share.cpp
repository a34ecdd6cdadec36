#include "kernels/devices/cuda/executor/host_share.h"

#include <algorithm>

#include "kernels/devices/cuda/executor/staging.h"

namespace hotplate {

HostShare HostShareFor(int lanes, std::uint64_t host_bytes, int usable_threads) {
  const auto bytes = [lanes](std::size_t buffers_of_a_lane) {
    // Uploads that run ahead of tasks stage like one more lane, but borrow nothing; copies to the host after tasks like
    // one more.
    return (std::uint64_t{static_cast<unsigned>(std::max(lanes, 1))} * buffers_of_a_lane + 2 * Staging::kOwnBuffers) *
           StagingBuffer::kBytes;
  };
  const std::uint64_t wanted = bytes(Staging::kMostBuffers);
  HostShare share;
  // On a small host, only the minimum for each lane.
  share.pinned_bytes = wanted <= host_bytes / 16 ? wanted : bytes(Staging::kOwnBuffers);
  // One thread does not keep a bus busy. Three helpers copy 22 GB/s up and 24 down, seven 22 and 36, fifteen 38 and 34
  // (an H100, 16 processors: bench_kernels --copy-threads). Most of the processors belong to jobs.
  share.copy_threads = std::clamp(usable_threads / 4, 0, 3);
  return share;
}

}  // namespace hotplate
