// A program of a user's that runs, seen from the daemon; and what its start takes.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/descriptor.h"
#include "server/workers/keeper.h"
#include "server/workers/program.h"

namespace hotplate::server {

// Not thread-safe; destroying it kills the program.
struct RunningProgram {
  pid_t pid = 0;
  Descriptor control;       // a keeper's socket: readable when the program has ended
  Descriptor in, out, err;  // our ends, which do not block; of a terminal two of its one end, and no err

  void Resize(TerminalSize size) const;  // of a terminal
  void Signal(int number) const;         // to its process group
  void Kill() const;                     // with all its processes
  // When `control` is readable. INTERNAL: the keeper is gone, as after a kill -9 of it.
  absl::StatusOr<ProgramEnd> End() const;
  // What a keeper says in words, after KeeperNews::Kind::kOnlyAnew.
  std::string NextText() const;
};

// All that a message says beside the descriptors which ask for a program.
inline constexpr std::string_view kStartMessage("\0", 1);

// The start of a program in another process, which gets the descriptors `theirs`.
struct ProgramStart {
  enum Place { kText, kControl, kIn, kOut, kErr, kPlaces };

  RunningProgram running;
  std::array<Descriptor, kPlaces> theirs;

  // RESOURCE_EXHAUSTED: there is no room for its pipes.
  static absl::StatusOr<ProgramStart> Of(const Program& program);
  // Of `theirs`, and of the program's descriptor 3 if it has one.
  std::vector<int> numbers(const Descriptor& third) const;

  bool OpenPipes();
  bool OpenTerminal(TerminalSize size);

  // After `theirs` were sent. Returns what the keeper says first, or CANCELLED when `give_up` says so: it asks a file
  // server, which may not answer. UNAVAILABLE: the keeper is gone, and nothing has run.
  absl::StatusOr<KeeperNews> Await(const Program& program, const std::function<bool()>& give_up);
};

// Of KeeperNews::Kind::kNotStarted.
absl::Status NotStarted(const Program& program, const KeeperNews& news);

}  // namespace hotplate::server
