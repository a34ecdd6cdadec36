// What each CUDA device of a daemon takes of the host beside the threads of its lanes. The benchmarks ask here too, so
// that they stage as the daemon does.
#pragma once

#include <cstdint>

namespace hotplate {

struct HostShare {
  int copy_threads = 0;            // that help the lanes to copy
  std::uint64_t pinned_bytes = 0;  // at most
};

// `host_bytes` and `usable_threads`: what this process may use of the machine (cpu::ReadMemory, cpu::UsableThreads).
HostShare HostShareFor(int lanes, std::uint64_t host_bytes, int usable_threads);

}  // namespace hotplate
