// Memory that was freed and is kept for what comes next: to have pages cleared and mapped anew takes a daemon as long
// as the transfer that wants them. It goes back to the system soon after.
#pragma once

#include <chrono>
#include <cstdint>

#include "server/core/types.h"

namespace hotplate::server {

class SpareMemory {
 public:
  // From now on. Of large arrays at most `arrays` bytes are kept, which no job has to do without (large_memory.h); of
  // the heap, from which gRPC takes what messages come in, what its arenas keep.
  static void Keep(std::uint64_t arrays);

  // To be called every second. `idle`: since the daemon was last in use. Arrays that nobody has taken meanwhile go
  // back, and the heap when nobody uses the daemon, or every half a minute where somebody goes on using it.
  void GiveBack(core::SteadyTime now, std::chrono::nanoseconds idle);

 private:
  core::SteadyTime looked_{}, trimmed_ = std::chrono::steady_clock::now();
};

}  // namespace hotplate::server
