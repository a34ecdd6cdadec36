// The host resources of each CUDA device, beside its lanes' threads. The benchmarks also use this, so that they stage
// like the daemon.
#pragma once

#include <cstdint>

namespace hotplate {

struct HostShare {
  int copy_threads = 0;            // that help the lanes to copy
  std::uint64_t pinned_bytes = 0;  // at most
};

// `host_bytes` and `usable_threads`: the limits of this process (cpu::ReadMemory, cpu::UsableThreads).
HostShare HostShareFor(int lanes, std::uint64_t host_bytes, int usable_threads);

}  // namespace hotplate
