// The keeper of one program: a process of its own, forked by the supervisor, that starts the program, sees to its end,
// and kills whatever it has left behind. Processes that a program starts and abandons become the keeper's children
// (it is a child subreaper), also those that begin a session of their own, so none escapes it.
//
// The daemon and the keeper talk over a socket with message boundaries. The keeper tells first that the program was
// started or why not, then its end, when no process of it is left. When the daemon's end of the socket closes, the
// keeper kills the program.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "kernels/base/descriptor.h"
#include "server/workers/program.h"

namespace hotplate::server {

// From the daemon.
struct KeeperOrder {
  enum class Kind : std::int32_t { kSignal, kKill };
  Kind kind = Kind::kSignal;
  std::int32_t signal = 0;  // for the program's process group
};

// To the daemon. python/hotplate_worker.py writes all kinds but kEnded.
struct KeeperNews {
  enum class Kind : std::int32_t {
    kStarted,
    kNotStarted,
    kEnded,
    kStale,     // the warm Python is no longer what a new one would be
    kOnlyAnew,  // it would not do with this program what a new one does; a message with the reason follows
  };
  Kind kind = Kind::kStarted;
  std::int32_t pid = 0;          // the program's
  std::int32_t error = 0;        // errno, of a program that was not started
  std::int32_t bad_folder = 0;   // its folder is what was wrong
  std::int32_t wait_status = 0;  // as waitpid gives it
  std::int32_t ended = 0;        // and that is known: it was not left in the kernel
  std::int32_t over_memory = 0;
  std::int32_t left = 0;
  std::int64_t user_ns = 0, system_ns = 0;
  std::uint64_t peak_bytes = 0;
};

struct KeptStreams {
  Descriptor control, in, out, err;
  Descriptor third;  // where the program has a descriptor 3
};

// The life of a keeper, which has one thread; returns when nothing is left of the program.
void Keep(const Program& program, KeptStreams streams);

// The same from where the program runs already, as a child of this process, and the daemon knows it. `supervisor`: the
// parent that this process began with.
void KeepStarted(pid_t program, pid_t supervisor, std::uint64_t memory_bytes, Descriptor control);

}  // namespace hotplate::server
