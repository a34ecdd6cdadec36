// Runs programs of users in processes of their own. Code that is not ours never runs in the daemon.
//
//   daemon ── supervisor ── keeper ── program ── …
//
// The supervisor's process is forked from the daemon at its start, while that has one thread, no secret and no device:
// so nothing of the kind can be inherited, and a fork costs a fraction of a millisecond however large the daemon
// becomes. It forks a keeper (keeper.h) for each program. When the daemon ends in whatever way, the supervisor ends,
// and so do the keepers with all that they keep.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/base/descriptor.h"
#include "kernels/base/mutex.h"
#include "server/workers/running_program.h"

namespace hotplate::server {

class Supervisor {
 public:
  // To be called while this process has one thread. RESOURCE_EXHAUSTED: the system has no room for a process.
  static absl::StatusOr<std::unique_ptr<Supervisor>> Fork();
  // Ends all programs.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // False: it was killed, and no program can be started any more.
  bool alive() const;

  // Returns when the program has begun, or `give_up` says so (CANCELLED): it asks a file server, which may not answer.
  // Thread-safe. FAILED_PRECONDITION: the system cannot execute the file, or its
  // folder cannot be entered; UNAVAILABLE: the supervisor is gone.
  // `third`: is the program's descriptor 3.
  absl::StatusOr<RunningProgram> Start(const Program& program, const std::function<bool()>& give_up,
                                       Descriptor third = Descriptor());

  pid_t pid() const { return pid_; }

 private:
  Supervisor(pid_t pid, Descriptor socket) : pid_(pid), socket_(std::move(socket)) {}

  const pid_t pid_;
  Mutex mutex_;
  const Descriptor socket_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::server
