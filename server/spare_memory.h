// Memory that was freed and is kept for what comes next: to have pages cleared and mapped anew takes a daemon as long
// as the transfer that wants them. It goes back to the system when nobody uses the daemon.
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

  // To be called a few times a second. `idle`: since the daemon was last in use.
  void GiveBack(core::SteadyTime now, std::chrono::nanoseconds idle);

 private:
  core::SteadyTime looked_{};
  bool heap_trimmed_ = false;  // since it was last in use
};

}  // namespace hotplate::server
