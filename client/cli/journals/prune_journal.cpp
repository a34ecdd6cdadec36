#include "client/cli/journals/prune_journal.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "client/cli/allocation/records.h"
#include "client/cli/ending.h"
#include "client/lib/wire.h"
#include "kernels/base/descriptor.h"
#include "proto/codec/name_lock.h"
#include "server/journal/prune_unowned.h"

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

// One pass.
absl::StatusOr<journal::PruneReport> Alone(const journal::Place& place, nanoseconds age) {
  return journal::PruneUnowned(place, {.generation = client::RandomHex(8), .name = place.name, .node = HostName()},
                               {.now = journal::WallTime::clock::now(), .age = age, .longest = kPass});
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
        const absl::StatusOr<int> name = codec::HoldName(call.settings.directory, place.name);
        by_daemon = absl::IsFailedPrecondition(name.status());
        if (by_daemon) return ByDaemon(call, place.name, bound);
        if (!name.ok()) return name.status();
        const Descriptor held(*name);
        return Alone(place, bound);
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
