// Who writes a journal. Locks cannot be trusted on network file systems (some have none, some are each machine's own),
// so that each opening of a journal is an epoch, numbered from 1:
//   owner-7   the record of epoch 7. It is made by linking a complete draft (.owner-7.PID.GENERATION) to that name,
//             which only one daemon can do. That daemon removes older records and drafts. It holds a lock on its own
//             record where there are locks, and touches it every few seconds.
//   fence     the newest epoch's number, written in place: a reader on another machine sees it as soon as it opens it.
// A writer reads the fence before each group, and again before it acknowledges the group. Whoever takes a journal over
// from a writer that may still live first raises the fence and then copies the index, to write to the copy: what was
// acknowledged before is in the copy, and what is written to the old index afterwards is never acknowledged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/base/descriptor.h"
#include "server/journal/disk.h"
#include "server/journal/records.h"

namespace hotplate::journal {

struct Owner {
  std::uint64_t epoch = 0;
  DaemonLife life = {};
  std::int64_t pid = 0;
  std::string boot = {};  // the id of its machine's start
  WallTime since = {};
  WallTime seen = {};      // when its record was last touched; 1970 if that is not known
  bool ended = false;      // it has closed the journal
  std::string index = {};  // the file that it writes to
  // Where it began with a copy of another file: that file, which counts while `index` is not there.
  std::string copy_of = {};

  // "daemon "local" (pid 4711 on b-cn1606, Slurm job 12, since 2026-11-21 20:40:00 UTC)"
  std::string Text() const;
};

struct FenceOptions {
  std::string folder;
  DaemonLife life;
  // Whether a daemon whose end is not known from here is gone all the same: its Slurm job has ended, say.
  std::function<bool(const Owner&)> is_gone = {};
  bool take_over = false;  // even from a daemon that lives
  bool locks = true;       // false: as on a file system without locks, for tests
  Disk* disk = &Disk::Real();
};

// The calls may wait for the file system. Check, Beat and End are of one thread at a time.
class Fence {
 public:
  // FAILED_PRECONDITION, naming it, if another daemon has the journal, or may have it.
  static absl::StatusOr<std::unique_ptr<Fence>> Claim(FenceOptions options);

  const Owner& self() const { return self_; }
  // The epoch before this one, if there was one.
  const std::optional<Owner>& before() const { return before_; }
  // The index must be copied from there before it is used; empty: it can be used as it is.
  const std::string& copy_from() const { return self_.copy_of; }
  bool has_locks() const { return has_locks_; }
  std::string Path(const std::string& name) const { return options_.folder + "/" + name; }

  // OK while nobody has taken the journal over; else FAILED_PRECONDITION, naming who has. UNAVAILABLE: not known now.
  absl::Status Check() const;
  void Beat() const;
  // The journal is closed: whoever comes next can have it at once.
  absl::Status End();

  // The record of the newest epoch of a folder; NOT_FOUND if it has none.
  static absl::StatusOr<Owner> Newest(const std::string& folder, const Disk& disk);

 private:
  explicit Fence(FenceOptions options) : options_(std::move(options)) {}
  absl::StatusOr<bool> Try();  // false: another daemon was faster
  absl::Status Raise() const;
  void RemoveOld() const;

  const FenceOptions options_;
  Owner self_;
  std::optional<Owner> before_;
  bool has_locks_ = true;
  Descriptor lock_;  // of the own record
};

}  // namespace hotplate::journal
