#include "client/cli/journals/prune_journal.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "client/cli/allocation/records.h"
#include "client/cli/ending.h"
#include "client/lib/wire.h"
#include "server/journal/fence.h"
#include "server/journal/journal.h"
#include "server/journal/spool.h"

namespace hotplate::cli {
namespace {

using std::chrono::steady_clock;

// For so long a journal is held, so that a daemon of that name can start between two passes.
constexpr std::chrono::milliseconds kPass(300), kPause(150);

// Adds the work of one pass. Not `unread`, which every pass finds anew.
void Add(const journal::PruneReport& pass, journal::PruneReport& sum) {
  sum.released += pass.released;
  sum.bytes += pass.bytes;
  sum.notes.insert(sum.notes.end(), pass.notes.begin(), pass.notes.end());
}

absl::StatusOr<journal::PruneReport> ByDaemon(const Invocation& call, const std::string& name, nanoseconds age) {
  Settings settings = call.settings;
  // The endpoint is that of the daemon that the settings lead to.
  if (ServerName(settings) != name) settings.endpoint.clear();
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
  report.more = report.released > 0;  // one call does a few seconds' work
  return report;
}

// Nothing is released whose files cannot be deleted from here.
absl::Status CheckSpool(const journal::Place& place) {
  if (place.spool.empty())
    return absl::FailedPreconditionError(
        "the journal in " + place.folder +
        " does not say where its files are; the next daemon of that name writes it down");
  if (access((place.spool + "/" + journal::kSpoolMark).c_str(), F_OK) == 0)
    return journal::CheckSpoolOwner(journal::Disk::Real(), place.spool, place.folder);
  return absl::FailedPreconditionError("the files of the journal in " + place.folder + " are in " + place.spool +
                                       ", which is not there on " + HostName());
}

// One pass.
absl::StatusOr<journal::PruneReport> Alone(const journal::Place& place, nanoseconds age) {
  // Opening it would make one.
  const absl::Status there = journal::Fence::Newest(place.folder, journal::Disk::Real()).status();
  if (absl::IsNotFound(there)) return journal::PruneReport();
  if (!there.ok()) return there;
  if (const absl::Status spool = CheckSpool(place); !spool.ok()) return spool;
  journal::JournalOptions options;
  options.folder = place.folder;
  options.life = {.generation = client::RandomHex(8), .name = place.name, .node = HostName()};
  auto opened = journal::Journal::Open(std::move(options));
  if (!opened.ok()) return opened.status();
  journal::Journal& journal = **opened;
  absl::StatusOr<journal::PruneReport> report = [&]() -> absl::StatusOr<journal::PruneReport> {
    const auto used = journal::SpooledBytes(journal);
    if (!used.ok()) return used.status();
    const auto spool = journal::Spool::Open({.root = place.spool, .journal_id = journal.id(), .used_bytes = *used});
    if (!spool.ok()) return spool.status();
    if (const absl::Status mine = (*spool)->Claim(place.folder, /*replace=*/false); !mine.ok()) return mine;
    return journal::Prune(journal, spool->get(),
                          {.now = journal::WallTime::clock::now(), .age = age, .longest = kPass});
  }();
  const absl::Status closed = journal.Close("hotplate journal prune");
  if (report.ok() && !closed.ok()) report->notes.emplace_back(closed.message());
  return report;
}

}  // namespace

absl::Status PruneJournals(const Invocation& call, const std::vector<journal::Place>& of_one_name, nanoseconds age,
                           journal::PruneReport& sum) {
  age = std::max(age, nanoseconds(1));  // 0 is for no bound
  const auto began = steady_clock::now();
  absl::Status failed;
  for (const journal::Place& place : of_one_name) {
    bool by_daemon = false, more = true;
    while (more) {
      // Jobs that end meanwhile are for the next call.
      const nanoseconds bound = age + (steady_clock::now() - began);
      absl::StatusOr<journal::PruneReport> pass = [&]() -> absl::StatusOr<journal::PruneReport> {
        const auto held = HoldName(call.settings.directory, place.name);
        by_daemon = absl::IsFailedPrecondition(held.status());
        if (by_daemon) return ByDaemon(call, place.name, bound);
        return held.ok() ? Alone(place, bound) : held.status();
      }();
      more = pass.ok() && pass->more;
      if (pass.ok()) {
        Add(*pass, sum);
        if (!more) sum.unread += pass->unread, sum.unread_bytes += pass->unread_bytes;
      } else if (failed.ok()) {
        failed = pass.status();
      }
      if (more && !by_daemon) std::this_thread::sleep_for(kPause);
    }
    if (by_daemon) break;  // it knows where its journal is
  }
  return failed;
}

}  // namespace hotplate::cli
