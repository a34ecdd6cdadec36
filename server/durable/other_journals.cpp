#include "server/durable/other_journals.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "kernels/base/descriptor.h"
#include "proto/codec/name_lock.h"
#include "server/journal/prune_unowned.h"

namespace hotplate::server {
namespace {

// An empty journal stays for so long: its daemon may be about to start again.
constexpr std::chrono::hours kEmptyAge(24);

bool IsRemovable(const journal::Leftovers& left, journal::WallTime now) {
  return left.empty && now - left.seen > kEmptyAge;
}

// For so long a name is held, so that a daemon of that name can start between two passes.
constexpr std::chrono::milliseconds kPass(300), kPause(150);

// One pass, with the name held. True: there is more to do.
absl::StatusOr<bool> Pass(const OtherJournals& others, const journal::Place& place, journal::PruneBounds& bounds) {
  const absl::StatusOr<journal::Leftovers> left = journal::LookAt(place, bounds);
  if (!left.ok()) return left.status();
  if (IsRemovable(*left, bounds.now)) {
    others.log(absl::StrCat("removing the journal in ", place.folder, ", in which nothing is left"));
    const absl::Status removed = journal::RemoveEmpty(place, others.self);
    if (!removed.ok()) return removed;
    if (absl::Status forgotten = journal::ForgetPlace(journal::Disk::Real(), others.directory, place);
        !forgotten.ok()) {
      return forgotten;
    }
    return false;
  }
  if (!left->due) return false;
  const absl::StatusOr<journal::PruneReport> report = journal::PruneUnowned(place, others.self, bounds);
  if (!report.ok()) return report.status();
  if (report->released > 0) {
    others.log(absl::StrCat("old results of ", report->released, " jobs of daemon ", place.name, " are deleted"));
  }
  if (!report->notes.empty()) return absl::UnavailableError(report->notes.front());
  return report->more;
}

absl::Status PruneOne(const OtherJournals& others, const journal::Place& place) {
  journal::PruneBounds bounds{.now = journal::WallTime::clock::now(),
                              .age = {},
                              .history_age = others.history_age,
                              .longest = kPass,
                              .stop = others.stop};
  const absl::StatusOr<journal::Leftovers> left = journal::LookAt(place, bounds);
  if (!left.ok()) return left.status();
  if (!left->due && !IsRemovable(*left, bounds.now)) return absl::OkStatus();
  for (bool more = true; more && !others.stop();) {
    const absl::StatusOr<int> name = codec::HoldName(others.directory, place.name);
    if (absl::IsFailedPrecondition(name.status())) return absl::OkStatus();  // its daemon does it
    if (!name.ok()) return name.status();
    {
      const Descriptor held(*name);
      const absl::StatusOr<bool> pass = Pass(others, place, bounds);
      if (!pass.ok()) return pass.status();
      more = *pass;
    }
    if (more) std::this_thread::sleep_for(kPause);
  }
  return absl::OkStatus();
}

}  // namespace

void PruneOthers(const OtherJournals& others) {
  const auto places = journal::FindPlaces(journal::Disk::Real(), others.directory);
  if (!places.ok()) return others.log(absl::StrCat("other daemons' journals: ", places.status().message()));
  for (const journal::Place& place : *places) {
    if (others.stop()) return;
    if (place.name == others.self.name) continue;
    const absl::Status done = PruneOne(others, place);
    if (done.ok() || absl::IsNotFound(done)) continue;
    others.log(absl::StrCat("the journal of daemon ", place.name, " stays as it is: ", done.message()));
  }
}

}  // namespace hotplate::server
