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

  // To be called every second. `idle`: since the daemon was last in use. Arrays that nobody has taken meanwhile go
  // back, and the heap when nobody uses the daemon, or every half a minute where somebody goes on using it.
  void GiveBack(core::SteadyTime now, std::chrono::nanoseconds idle);

 private:
  core::SteadyTime looked_{}, trimmed_ = std::chrono::steady_clock::now();
};

}  // namespace hotplate::server
