// Arrays that outlive the daemon: named ones under a lease, once they are in files, which is at the daemon's end or
// when somebody asks for it. The journal knows the files, and the next daemon of the name reads them again.
//
// The owner's files stay when their arrays go. A guest's is removed with its array: a guest cannot reach it any more,
// and so a token's saved arrays have no more bytes on the disk than its arrays have in memory, which --quota-bytes
// bounds.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/core/arrays/arrays.h"
#include "server/core/options.h"
#include "server/journal/journal.h"

namespace hotplate::server {

// Thread-safe.
class DurableArrays {
 public:
  using Log = std::function<void(core::LogLevel, const std::string&)>;
  // Both must outlive it.
  DurableArrays(core::ArrayStore& arrays, journal::Journal& journal, Log log)
      : arrays_(arrays), journal_(journal), log_(std::move(log)) {}

  // The arrays of daemons before this one, under the rest of their leases. What cannot be had stays in its file, and
  // the log says why. Waits for the file system.
  void Restore(const std::vector<journal::ArraySaved>& saved);
  // The array, if it has a name and a lease, is whole in this file.
  void NoteSaved(const core::ArrayId& id, const std::string& file);
  // The same of one that has both. `done` is called when the journal has it (journal/writer.h).
  void WriteSaved(const core::ArraySnapshot& array, const std::string& file, journal::Durability durability,
                  journal::Completion done = nullptr);
  // Its file, if it is in one: arrays do not change. Else empty.
  std::string FileOf(const core::ArrayId& id) const;
  // Notes which arrays have been freed, or have another lease. When one may have been, and now and then.
  void Look();
  // Removes the files of guests' arrays that Look has found gone. Waits for the file system.
  void RemoveGone();

 private:
  struct Saved {
    core::ArrayId id;
    core::WallTime lease_end;
    bool is_guests = false;
  };
  absl::StatusOr<core::ArraySnapshot> Read(const journal::ArraySaved& saved, core::nanoseconds lease);

  core::ArrayStore& arrays_;
  journal::Journal& journal_;
  const Log log_;
  mutable Mutex mutex_;
  std::map<std::string, Saved> saved_ ABSL_GUARDED_BY(mutex_);  // by file
  std::vector<std::string> gone_ ABSL_GUARDED_BY(mutex_);       // files of guests
};

}  // namespace hotplate::server
