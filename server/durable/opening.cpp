// The journal and the spool of durable jobs, as they are opened at the daemon's start.
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/durable/durable_jobs.h"
#include "server/journal/places.h"

namespace hotplate::server {

using core::LogLevel;

std::shared_ptr<DurableJobs> DurableJobs::Open(Options options) {
  std::shared_ptr<DurableJobs> jobs(new DurableJobs(std::move(options)));
  jobs->unable_ = jobs->OpenJournal();
  if (!jobs->unable_.ok()) {
    jobs->spool_.reset();
    jobs->journal_.reset();
    jobs->Say(LogLevel::kError, absl::StrCat("no detached jobs are taken: the journal in ",
                                             jobs->options_.journal.folder, ": ", jobs->unable_.message()));
  }
  return jobs;
}

absl::Status DurableJobs::OpenSpool() {
  const absl::StatusOr<std::uint64_t> used = journal::SpooledBytes(*journal_);
  if (!used.ok()) return used.status();
  // What there is stays where it is, wherever new files would go.
  const std::string before = journal::NotedSpool(journal::Disk::Real(), options_.journal.folder);
  const bool stays = *used > 0 && !before.empty() && access(before.c_str(), F_OK) == 0;
  const std::string root = stays ? before : options_.spool;
  if (root != options_.spool) {
    Say(LogLevel::kInfo,
        absl::StrCat("inputs and results of jobs are in ", root, ", as they were before, and not in ", options_.spool));
  }
  const auto open = [&](const std::string& folder) -> absl::Status {
    absl::StatusOr<std::unique_ptr<journal::Spool>> spool =
        journal::Spool::Open({folder, journal_->id(), *used, options_.limits});
    if (!spool.ok()) return spool.status();
    spool_ = *std::move(spool);
    return spool_->Claim(options_.journal.folder, /*replace=*/true);
  };
  absl::Status opened = open(root);
  if (!absl::IsFailedPrecondition(opened)) return opened;
  // Another HOTPLATE_DIR has a daemon of this name on the same scratch.
  const std::string own = absl::StrCat(options_.spool, "-", journal_->id());
  Say(LogLevel::kWarning, absl::StrCat("inputs and results of jobs go to ", own, ": ", opened.message()));
  return open(own);
}

absl::Status DurableJobs::OpenJournal() {
  absl::StatusOr<std::unique_ptr<journal::Journal>> opened = journal::Journal::Open(options_.journal);
  if (!opened.ok()) return opened.status();
  journal_ = *std::move(opened);
  if (absl::Status spool = OpenSpool(); !spool.ok()) return spool;
  const absl::Status noted = journal::NotePlace(
      journal::Disk::Real(), options_.directory,
      {.name = options_.journal.life.name, .folder = options_.journal.folder, .spool = spool_->root()});
  if (!noted.ok()) {
    Say(LogLevel::kWarning, absl::StrCat("hotplate history may not find this journal: ", noted.message()));
  }
  if (const absl::Status swept = journal::SweepSpool(*journal_, *spool_).status(); !swept.ok()) {
    Say(LogLevel::kWarning, absl::StrCat("what killed daemons left in ", spool_->root(), " stays: ", swept.message()));
  }
  CountGuests();
  absl::StatusOr<journal::Recovered> recovered =
      journal_->Recover({.ended_since = journal::WallTime::clock::now() -
                                        std::chrono::duration_cast<journal::WallTime::duration>(options_.retention),
                         .most_ended = options_.retained_jobs});
  if (recovered.ok()) recovered_ = *std::move(recovered);
  return recovered.status();
}

}  // namespace hotplate::server
