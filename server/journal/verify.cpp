#include "server/journal/verify.h"

#include <limits>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/journal/disk.h"
#include "server/journal/recovery.h"
#include "server/journal/spool.h"

namespace hotplate::journal {
namespace {

constexpr int kMostFaults = 100;

absl::Status CheckIndex(Index& index, VerifyReport& report) {
  return Guarded(index.database(), [&]() -> absl::Status {
    SQLite::Statement check(index.database(), absl::StrCat("PRAGMA integrity_check(", kMostFaults, ")"));
    while (check.executeStep()) {
      const std::string line = check.getColumn(0).getString();
      if (line != "ok") report.problems.push_back(absl::StrCat("the index: ", line));
    }
    constexpr std::pair<const char*, const char*> kRules[] = {
        {"has no request",
         "SELECT number FROM jobs j WHERE state<3 AND NOT EXISTS(SELECT 1 FROM requests r WHERE"
         " r.number=j.number)"},
        {"has ended without an end record",
         "SELECT number FROM jobs j WHERE state>2 AND attached=0 AND NOT EXISTS(SELECT 1"
         " FROM ends e WHERE e.number=j.number)"},
        {"has an unknown state", "SELECT number FROM jobs WHERE state NOT BETWEEN 1 AND 6"},
        {"has a state that does not fit its end time", "SELECT number FROM jobs WHERE (state>2)<>(end_ns IS NOT NULL)"},
        {"has files and no record",
         "SELECT DISTINCT number FROM files f WHERE NOT EXISTS(SELECT 1 FROM jobs j"
         " WHERE j.number=f.number)"},
    };
    for (const auto& [what, query] : kRules) {
      SQLite::Statement rule(index.database(), absl::StrCat(query, " LIMIT ", kMostFaults));
      while (rule.executeStep()) {
        report.problems.push_back(absl::StrCat("job ", rule.getColumn(0).getInt64(), " ", what));
      }
    }
    return absl::OkStatus();
  });
}

class FileCheck {
 public:
  FileCheck(std::string root, VerifyReport& report) : root_(std::move(root)), report_(report) {}

  void Check(const KeptJob& job, const std::vector<SpooledFile>& files) {
    numbers_.insert(job.accepted.number);
    for (const SpooledFile& file : files) {
      if (file.shared) shared_.insert(file.sha256);
      if (!seen_.insert(file.file).second) continue;
      const absl::Status good = CheckFile(absl::StrCat(root_, "/", file.file), file);
      if (good.ok()) {
        ++report_.files;
        report_.bytes += file.bytes;
        continue;
      }
      std::vector<std::string>& list = file.synced ? report_.problems : report_.notes;
      list.push_back(absl::StrCat("job ", job.accepted.number, ": ", good.message()));
    }
  }

  // What nobody knows.
  void Strays() {
    const absl::StatusOr<std::vector<std::string>> folders = Disk::Real().List(root_ + "/jobs");
    for (const std::string& name : folders.ok() ? *folders : std::vector<std::string>()) {
      std::uint64_t number = 0;
      if (absl::SimpleAtoi(name, &number) && numbers_.contains(number)) continue;
      report_.notes.push_back(absl::StrCat(root_, "/jobs/", name, " belongs to no job; the next daemon removes it"));
    }
    for (const char* const folder : {"/shared/", "/linked/"}) {
      const absl::StatusOr<std::vector<std::string>> files = Disk::Real().List(root_ + folder);
      for (const std::string& name : files.ok() ? *files : std::vector<std::string>()) {
        const std::optional<Sha256> sha = Sha256::FromHex(name.substr(0, name.find('.')));
        if (sha && shared_.contains(*sha)) continue;
        report_.notes.push_back(absl::StrCat(root_, folder, name, " belongs to no job; the next daemon removes it"));
      }
    }
  }

 private:
  const std::string root_;
  VerifyReport& report_;
  absl::flat_hash_set<std::string> seen_;
  absl::flat_hash_set<std::uint64_t> numbers_;
  std::set<Sha256> shared_;
};

}  // namespace

absl::StatusOr<VerifyReport> Verify(WithIndex with, const std::string& spool_root) {
  VerifyReport report;
  Recovered all;
  absl::Status read = with([&](Index& index) -> absl::Status {
    if (absl::Status checked = CheckIndex(index, report); !checked.ok()) return checked;
    absl::StatusOr<Recovered> recovered =
        Recover(index, {.ended_since = WallTime::min(), .most_ended = std::numeric_limits<std::int64_t>::max()});
    if (!recovered.ok()) return recovered.status();
    all = *std::move(recovered);
    return absl::OkStatus();
  });
  if (absl::IsDataLoss(read)) {
    report.problems.emplace_back(read.message());
    return report;
  }
  if (!read.ok()) return read;
  report.unfinished = all.unfinished.size();
  report.ended = all.ended.size();
  if (spool_root.empty()) return report;
  FileCheck files(spool_root, report);
  for (const std::vector<KeptJob>* const jobs : {&all.unfinished, &all.ended}) {
    for (const KeptJob& job : *jobs) {
      files.Check(job, job.accepted.inputs);
      files.Check(job, job.results);
    }
  }
  files.Strays();
  return report;
}

}  // namespace hotplate::journal
