// Keeps freed memory for reuse: clearing and mapping new pages takes a daemon as long as the transfer that needs them.
// The memory goes back to the system soon after.
#pragma once

#include <chrono>
#include <cstdint>

#include "server/core/types.h"

namespace hotplate::server {

class SpareMemory {
 public:
  // From now on keeps at most `arrays` bytes of large arrays, which no job has to do without (large_memory.h), and of
  // the heap, where gRPC stores messages, the free part of its arenas.
  static void Keep(std::uint64_t arrays);

  // Call it every second. `idle`: time since the daemon was last in use. Unused arrays are returned, and the heap once
  // the daemon is idle, or every half minute while it is in use; also when refused calls or closed connections have
  // made it grow.
  void GiveBack(core::SteadyTime now, std::chrono::nanoseconds idle);

 private:
  core::SteadyTime looked_{}, trimmed_ = std::chrono::steady_clock::now();
  std::uint64_t least_ = 0;  // Unused() since
};

}  // namespace hotplate::server
