#include "server/journal/prune_unowned.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/journal/fence.h"
#include "server/journal/journal.h"
#include "server/journal/spool.h"
#include "server/journal/spool_mark.h"

namespace hotplate::journal {
namespace {

// The same jobs that Prune would take (prune.cpp), by their age alone.
std::string IsDue() {
  return absl::StrCat("SELECT EXISTS(SELECT 1 FROM jobs j WHERE j.end_ns<?1 AND j.release_ns IS NULL AND j.attached=0",
                      " AND NOT ", kIsUnread,
                      ") OR EXISTS(SELECT 1 FROM jobs WHERE end_ns<?2 AND release_ns IS NOT NULL)",
                      " OR EXISTS(SELECT 1 FROM sums WHERE minute<?2/60000000000)");
}
constexpr char kIsEmpty[] =
    "SELECT NOT EXISTS(SELECT 1 FROM jobs) AND NOT EXISTS(SELECT 1 FROM sums) AND NOT EXISTS(SELECT 1 FROM arrays)";

// Before which time something has to have ended; with an age of 0, which is for none, before all times.
std::int64_t Before(WallTime now, nanoseconds age) { return age.count() > 0 ? ToNs(now) - age.count() : 0; }

absl::Status CheckSpool(const Place& place, const std::string& node) {
  if (place.spool.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the journal in ", place.folder,
                     " does not say where its files are; the next daemon of that name writes it down"));
  }
  if (access(absl::StrCat(place.spool, "/", kSpoolMark).c_str(), F_OK) == 0) {
    return CheckSpoolOwner(Disk::Real(), place.spool, place.folder);
  }
  return absl::FailedPreconditionError(absl::StrCat("the files of the journal in ", place.folder, " are in ",
                                                    place.spool, ", which is not there on ", node));
}

absl::StatusOr<PruneReport> PruneHeld(Journal& journal, const Place& place, const PruneBounds& bounds) {
  const absl::StatusOr<std::uint64_t> used = SpooledBytes(journal);
  if (!used.ok()) return used.status();
  const auto spool = Spool::Open({.root = place.spool, .journal_id = journal.id(), .used_bytes = *used});
  if (!spool.ok()) return spool.status();
  if (absl::Status mine = (*spool)->Claim(place.folder, /*replace=*/false); !mine.ok()) return mine;
  return Prune(journal, spool->get(), bounds);
}

absl::Status RemoveFiles(const std::string& folder) {
  Disk& disk = Disk::Real();
  const absl::StatusOr<std::vector<std::string>> names = disk.List(folder);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (absl::Status removed = disk.Remove(absl::StrCat(folder, "/", name)); !removed.ok()) return removed;
  }
  return disk.RemoveFolder(folder);
}

}  // namespace

absl::StatusOr<Leftovers> LookAt(const Place& place, PruneBounds& bounds) {
  Leftovers left;
  const absl::StatusOr<Owner> owner = Fence::Newest(place.folder, Disk::Real());
  if (!owner.ok()) return owner.status();
  left.seen = std::max(owner->seen, owner->since);
  absl::Status read = ReadCopy(place.folder, [&](Index& index) {
    return Guarded(index.database(), [&]() -> absl::Status {
      bounds.age = nanoseconds(index.database()
                                   .execAndGet("SELECT coalesce((SELECT value FROM facts WHERE name='result age'), 0)")
                                   .getInt64());
      SQLite::Statement due(index.database(), IsDue());
      due.bind(1, Before(bounds.now, bounds.age));
      due.bind(2, Before(bounds.now, bounds.history_age));
      left.due = due.executeStep() && due.getColumn(0).getInt() != 0;
      left.empty = index.database().execAndGet(kIsEmpty).getInt() != 0;
      return absl::OkStatus();
    });
  });
  if (!read.ok()) return read;
  return left;
}

absl::StatusOr<PruneReport> PruneUnowned(const Place& place, DaemonLife self, const PruneBounds& bounds) {
  // Opening it would make one.
  const absl::Status there = Fence::Newest(place.folder, Disk::Real()).status();
  if (absl::IsNotFound(there)) return PruneReport();
  if (!there.ok()) return there;
  if (absl::Status spool = CheckSpool(place, self.node); !spool.ok()) return spool;
  absl::StatusOr<std::unique_ptr<Journal>> journal = Journal::Open({.folder = place.folder, .life = std::move(self)});
  if (!journal.ok()) return journal.status();
  absl::StatusOr<PruneReport> report = PruneHeld(**journal, place, bounds);
  const absl::Status closed = (*journal)->Close("pruned");
  if (report.ok() && !closed.ok()) report->notes.emplace_back(closed.message());
  return report;
}

absl::Status RemoveEmpty(const Place& place, DaemonLife self) {
  if (absl::Status spool = CheckSpool(place, self.node); !spool.ok()) return spool;
  absl::StatusOr<std::unique_ptr<Journal>> journal = Journal::Open({.folder = place.folder, .life = std::move(self)});
  if (!journal.ok()) return journal.status();
  absl::Status removed = (*journal)->Close("empty");
  if (removed.ok()) {
    for (const char* const part : {"/jobs", "/shared", "/linked", ""}) {
      const std::string folder = place.spool + part;
      if (removed.ok() && access(folder.c_str(), F_OK) == 0) removed = RemoveFiles(folder);
    }
  }
  if (!removed.ok()) return removed;
  return RemoveFiles(place.folder);
}

}  // namespace hotplate::journal
