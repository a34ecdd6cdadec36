#include "server/durable/other_journals.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/descriptor.h"
#include "proto/codec/name_lock.h"
#include "server/journal/prune_unowned.h"

namespace hotplate::server {
namespace {

// An empty journal stays for so long: its daemon may be about to start again.
constexpr std::chrono::hours kEmptyAge(24);

absl::Status PruneOne(const OtherJournals& others, const journal::Place& place) {
  journal::PruneBounds bounds{.now = journal::WallTime::clock::now(),
                              .age = others.age,
                              .history_age = others.history_age,
                              .stop = others.stop};
  for (bool more = true; more && !others.stop();) {
    const absl::StatusOr<journal::Leftovers> left = journal::LookAt(place, bounds);
    if (!left.ok()) return left.status();
    const bool removable = left->empty && bounds.now - left->seen > kEmptyAge;
    if (!left->due && !removable) return absl::OkStatus();
    const absl::StatusOr<int> name = codec::HoldName(others.directory, place.name);
    if (absl::IsFailedPrecondition(name.status())) return absl::OkStatus();  // its daemon does it
    if (!name.ok()) return name.status();
    const Descriptor held(*name);
    if (removable) {
      others.log(absl::StrCat("removing the journal in ", place.folder, ", in which nothing is left"));
      const absl::Status removed = journal::RemoveEmpty(place, others.self);
      return removed.ok() ? journal::ForgetPlace(journal::Disk::Real(), others.directory, place) : removed;
    }
    const absl::StatusOr<journal::PruneReport> report = journal::PruneUnowned(place, others.self, bounds);
    if (!report.ok()) return report.status();
    more = report->more;
    if (report->released > 0) {
      others.log(absl::StrCat("old results of ", report->released, " jobs of daemon ", place.name, " are deleted"));
    }
    if (!report->notes.empty()) return absl::UnavailableError(report->notes.front());
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
