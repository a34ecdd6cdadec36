#include "server/journal/prune.h"

#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace hotplate::journal {
namespace {

// Rows are dropped in pieces, between which the daemon's own records are written.
constexpr int kRowsAtOnce = 1000;

struct Candidate {
  std::uint64_t number = 0;
  std::int64_t end_ns = 0;
  bool unread = false;
  std::uint64_t bytes = 0;  // of files that no other job has
};

// Oldest end first.
std::vector<Candidate> ReadCandidates(SQLite::Database& database) {
  std::vector<Candidate> candidates;
  // Unread: it has left something, and nobody has got it.
  SQLite::Statement query(
      database,
      "SELECT j.number, j.end_ns, j.fetch_ns IS NULL AND j.state=3 AND"
      " (EXISTS(SELECT 1 FROM files f WHERE f.number=j.number AND f.role=2) OR"
      "  EXISTS(SELECT 1 FROM ends e WHERE e.number=j.number AND e.outputs IS NOT NULL)),"
      " (SELECT coalesce(sum(f.bytes), 0) FROM files f WHERE f.number=j.number AND f.shared=0)"
      " FROM jobs j WHERE j.end_ns IS NOT NULL AND j.release_ns IS NULL AND j.attached=0 ORDER BY j.end_ns");
  while (query.executeStep()) {
    candidates.push_back({.number = static_cast<std::uint64_t>(query.getColumn(0).getInt64()),
                          .end_ns = query.getColumn(1).getInt64(),
                          .unread = query.getColumn(2).getInt() != 0,
                          .bytes = static_cast<std::uint64_t>(query.getColumn(3).getInt64())});
  }
  return candidates;
}

struct SharedFile {
  Sha256 sha;
  std::uint64_t bytes = 0;
};

// The shared files of a job, as long as the index has them.
std::vector<SharedFile> SharedOf(SQLite::Database& database, std::uint64_t number) {
  std::vector<SharedFile> files;
  SQLite::Statement query(database, "SELECT DISTINCT sha256, bytes FROM files WHERE number=? AND shared=1");
  query.bind(1, static_cast<std::int64_t>(number));
  while (query.executeStep()) {
    SharedFile file;
    const SQLite::Column sha = query.getColumn(0);
    if (sha.getBytes() != static_cast<int>(file.sha.bytes.size())) continue;
    const auto* const bytes = static_cast<const std::byte*>(sha.getBlob());
    std::copy_n(bytes, file.sha.bytes.size(), file.sha.bytes.begin());
    file.bytes = static_cast<std::uint64_t>(query.getColumn(1).getInt64());
    files.push_back(file);
  }
  return files;
}

bool IsReferenced(SQLite::Database& database, const Sha256& sha) {
  SQLite::Statement query(database, "SELECT EXISTS(SELECT 1 FROM files WHERE sha256=? AND shared=1)");
  query.bindNoCopy(1, sha.bytes.data(), static_cast<int>(sha.bytes.size()));
  return query.executeStep() && query.getColumn(0).getInt() != 0;
}

// The index first: files are never missing while it has them.
absl::Status Release(Journal& journal, Spool* spool, const Candidate& job, const PruneBounds& bounds,
                     PruneReport& report) {
  std::vector<SharedFile> shared;
  absl::Status read = journal.With([&](Index& index) {
    return Guarded(index.database(), [&]() -> absl::Status {
      shared = SharedOf(index.database(), job.number);
      return absl::OkStatus();
    });
  });
  if (read.ok()) read = journal.Write(JobReleased{.number = job.number, .time = bounds.now});
  // Another prune at the same time has released it.
  if (absl::IsInvalidArgument(read)) return absl::OkStatus();
  if (!read.ok()) return read;
  ++report.released;
  report.bytes += job.bytes;
  if (spool == nullptr) return absl::OkStatus();
  if (absl::Status removed = spool->Remove(job.number, job.bytes); !removed.ok()) {
    report.notes.emplace_back(removed.message());
  }
  for (const SharedFile& file : shared) {
    // On the writer's thread: no job that has the file is accepted between the question and the removal. One that is
    // being stored has it pinned.
    absl::Status removed = journal.With([&](Index& index) {
      return Guarded(index.database(), [&]() -> absl::Status {
        if (IsReferenced(index.database(), file.sha)) return absl::OkStatus();
        const absl::StatusOr<bool> gone = spool->RemoveShared(file.sha, file.bytes);
        if (gone.ok() && *gone) report.bytes += file.bytes;
        return gone.status();
      });
    });
    if (!removed.ok()) report.notes.emplace_back(removed.message());
  }
  return absl::OkStatus();
}

absl::Status Forget(Journal& journal, const PruneBounds& bounds, PruneReport& report) {
  const std::int64_t oldest = ToNs(bounds.now - std::chrono::duration_cast<WallTime::duration>(bounds.history_age));
  int dropped = kRowsAtOnce;
  while (dropped == kRowsAtOnce) {
    absl::Status done = journal.With([&](Index& index) {
      return Guarded(index.database(), [&]() -> absl::Status {
        SQLite::Database& database = index.database();
        const std::string which = absl::StrCat("(SELECT number FROM jobs WHERE end_ns<", oldest,
                                               " AND release_ns IS NOT NULL ORDER BY end_ns LIMIT ", kRowsAtOnce, ")");
        database.exec("BEGIN IMMEDIATE");
        try {
          database.exec("DELETE FROM ends WHERE number IN " + which);
          database.exec("DELETE FROM reruns WHERE number IN " + which);
          dropped = database.exec("DELETE FROM jobs WHERE number IN " + which);
          database.exec(absl::StrCat("DELETE FROM sums WHERE minute<", oldest / 60'000'000'000));
          database.exec("COMMIT");
        } catch (const SQLite::Exception&) {
          database.tryExec("ROLLBACK");
          throw;
        }
        return absl::OkStatus();
      });
    });
    if (!done.ok()) return done;
    report.forgotten += static_cast<std::uint64_t>(dropped);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PruneReport> Prune(Journal& journal, Spool* spool, const PruneBounds& bounds) {
  PruneReport report;
  std::vector<Candidate> candidates;
  absl::Status read = journal.With([&](Index& index) {
    return Guarded(index.database(), [&]() -> absl::Status {
      candidates = ReadCandidates(index.database());
      return absl::OkStatus();
    });
  });
  if (!read.ok()) return read;
  for (const Candidate& job : candidates) {
    if (job.unread) {
      ++report.unread;
      report.unread_bytes += job.bytes;
      continue;
    }
    const bool old = bounds.age.count() > 0 && ToNs(bounds.now) - job.end_ns >= bounds.age.count();
    const bool much = bounds.bytes > 0 && job.bytes > 0 && spool != nullptr && spool->used_bytes() > bounds.bytes;
    if (!old && !much) continue;
    if (absl::Status released = Release(journal, spool, job, bounds, report); !released.ok()) return released;
  }
  if (bounds.history_age.count() > 0) {
    if (absl::Status forgotten = Forget(journal, bounds, report); !forgotten.ok()) return forgotten;
  }
  return report;
}

absl::StatusOr<Spool::Swept> SweepSpool(Journal& journal, Spool& spool) {
  absl::flat_hash_set<std::uint64_t> numbers;
  std::set<Sha256> shared;
  absl::Status read = journal.With([&](Index& index) {
    return Guarded(index.database(), [&]() -> absl::Status {
      SQLite::Statement jobs(index.database(),
                             "SELECT number FROM jobs WHERE state<3 UNION ALL SELECT number FROM jobs WHERE"
                             " end_ns IS NOT NULL AND release_ns IS NULL AND attached=0");
      while (jobs.executeStep()) numbers.insert(static_cast<std::uint64_t>(jobs.getColumn(0).getInt64()));
      SQLite::Statement files(index.database(), "SELECT DISTINCT lower(hex(sha256)) FROM files WHERE shared=1");
      while (files.executeStep()) {
        if (const std::optional<Sha256> sha = Sha256::FromHex(files.getColumn(0).getString())) shared.insert(*sha);
      }
      return absl::OkStatus();
    });
  });
  if (!read.ok()) return read;
  return spool.Sweep([&](std::uint64_t number) { return numbers.contains(number); },
                     [&](const Sha256& sha) { return shared.contains(sha); });
}

absl::StatusOr<std::uint64_t> SpooledBytes(Journal& journal) {
  std::uint64_t bytes = 0;
  absl::Status read = journal.With([&](Index& index) {
    return Guarded(index.database(), [&]() -> absl::Status {
      SQLite::Statement query(
          index.database(),
          "SELECT (SELECT coalesce(sum(bytes), 0) FROM files WHERE shared=0) + (SELECT"
          " coalesce(sum(bytes), 0) FROM (SELECT DISTINCT sha256, bytes FROM files WHERE shared=1))");
      if (query.executeStep()) bytes = static_cast<std::uint64_t>(query.getColumn(0).getInt64());
      return absl::OkStatus();
    });
  });
  if (!read.ok()) return read;
  return bytes;
}

}  // namespace hotplate::journal
