#include "client/cli/journals/verify_journal.h"

#include <unistd.h>

#include <algorithm>

#include "client/cli/allocation/records.h"
#include "proto/codec/name_lock.h"
#include "server/journal/journal.h"
#include "server/journal/spool.h"

namespace hotplate::cli {
namespace {

bool IsSpool(const std::string& folder) {
  return !folder.empty() && access((folder + "/" + journal::kSpoolMark).c_str(), F_OK) == 0;
}

absl::StatusOr<journal::VerifyReport> Read(const journal::Place& place) {
  return journal::Verify(
      [&](absl::FunctionRef<absl::Status(journal::Index&)> work) { return journal::ReadCopy(place.folder, work); },
      IsSpool(place.spool) ? place.spool : "");
}

}  // namespace

absl::StatusOr<journal::VerifyReport> VerifyJournal(const Settings& settings, const journal::Place& place) {
  auto report = Read(place);
  if (!report.ok()) return report;
  // A daemon may have deleted what was fetched after the index was read. What it did is not missing the second time.
  if (!report->ok() && !codec::IsNameFree(settings.directory, place.name)) {
    const std::vector<std::string> before = report->problems;
    report = Read(place);
    if (!report.ok()) return report;
    std::erase_if(report->problems, [&](const std::string& problem) {
      return std::find(before.begin(), before.end(), problem) == before.end();
    });
  }
  if (!IsSpool(place.spool) && report->unfinished + report->ended > 0) {
    report->problems.push_back(
        (place.spool.empty() ? place.folder + " does not say where inputs and results are"
                             : "inputs and results are in " + place.spool + ", which is not there on " + HostName()) +
        ": none of them was read");
  }
  return report;
}

}  // namespace hotplate::cli
