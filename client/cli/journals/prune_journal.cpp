#include "client/cli/journals/prune_journal.h"

#include <unistd.h>

#include <algorithm>
#include <random>

#include "client/cli/allocation/records.h"
#include "client/cli/ending.h"
#include "server/journal/fence.h"
#include "server/journal/journal.h"
#include "server/journal/spool.h"

namespace hotplate::cli {
namespace {

void Add(const journal::PruneReport& more, journal::PruneReport& sum) {
  sum.released += more.released;
  sum.bytes += more.bytes;
  sum.unread += more.unread;
  sum.unread_bytes += more.unread_bytes;
  sum.notes.insert(sum.notes.end(), more.notes.begin(), more.notes.end());
}

absl::StatusOr<journal::PruneReport> ByDaemon(const Invocation& call, const std::string& name, nanoseconds age) {
  Settings settings = call.settings;
  settings.server = name;
  auto client = call.With(settings).Connect();
  if (!client.ok()) return client.status();
  const auto pruned = client->PruneJournal(age);
  if (!pruned.ok()) return pruned.status();
  journal::PruneReport report;
  report.released = pruned->released();
  report.bytes = pruned->bytes();
  report.unread = pruned->unread();
  report.unread_bytes = pruned->unread_bytes();
  report.notes.assign(pruned->notes().begin(), pruned->notes().end());
  return report;
}

std::string NewGeneration() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string text;
  for (int i = 0; i < 16; ++i) text += kDigits[random() % 16];
  return text;
}

// Nothing is released whose files cannot be deleted from here.
absl::Status CheckSpool(const journal::Place& place) {
  if (place.spool.empty())
    return absl::FailedPreconditionError("where the files of the journal in " + place.folder +
                                         " are is not written down; the next daemon of that name does it");
  if (access((place.spool + "/" + journal::kSpoolMark).c_str(), F_OK) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError("the files of the journal in " + place.folder + " are in " + place.spool +
                                       ", which is not there on " + HostName());
}

absl::StatusOr<journal::PruneReport> Alone(const journal::Place& place, nanoseconds age) {
  // Opening it would make one.
  const absl::Status there = journal::Fence::Newest(place.folder, journal::Disk::Real()).status();
  if (absl::IsNotFound(there)) return journal::PruneReport();
  if (!there.ok()) return there;
  if (const absl::Status spool = CheckSpool(place); !spool.ok()) return spool;
  journal::JournalOptions options;
  options.folder = place.folder;
  options.life = {.generation = NewGeneration(), .name = place.name, .node = HostName()};
  auto opened = journal::Journal::Open(std::move(options));
  if (!opened.ok()) return opened.status();
  journal::Journal& journal = **opened;
  absl::StatusOr<journal::PruneReport> report = [&]() -> absl::StatusOr<journal::PruneReport> {
    const auto used = journal::SpooledBytes(journal);
    if (!used.ok()) return used.status();
    const auto spool = journal::Spool::Open({.root = place.spool, .journal_id = journal.id(), .used_bytes = *used});
    if (!spool.ok()) return spool.status();
    if (const auto swept = journal::SweepSpool(journal, **spool); !swept.ok()) return swept.status();
    return journal::Prune(journal, spool->get(), {.now = journal::WallTime::clock::now(), .age = age});
  }();
  const absl::Status closed = journal.Close("hotplate journal prune");
  if (report.ok() && !closed.ok()) report->notes.emplace_back(closed.message());
  return report;
}

}  // namespace

absl::StatusOr<journal::PruneReport> PruneJournals(const Invocation& call,
                                                   const std::vector<journal::Place>& of_one_name, nanoseconds age) {
  age = std::max(age, nanoseconds(1));  // 0 is for no bound
  journal::PruneReport sum;
  if (of_one_name.empty()) return sum;
  const auto held = HoldName(call.settings.directory, of_one_name.front().name);
  if (absl::IsFailedPrecondition(held.status())) return ByDaemon(call, of_one_name.front().name, age);
  if (!held.ok()) return held.status();
  for (const journal::Place& place : of_one_name) {
    const auto report = Alone(place, age);
    if (!report.ok()) return report;
    Add(*report, sum);
  }
  return sum;
}

}  // namespace hotplate::cli
