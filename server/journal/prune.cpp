#include "server/journal/prune.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace hotplate::journal {
namespace {

// Rows are read and dropped in pieces, between which the daemon's own records are written.
constexpr int kRowsAtOnce = 1000;

struct Candidate {
  std::uint64_t number = 0;
  std::int64_t end_ns = 0;
  bool unread = false;
  bool has_shared = false;
  std::uint64_t bytes = 0;  // of files that no other job has
};

// Those that ended after `last`, oldest end first: as many as the writer's thread reads at once.
std::vector<Candidate> ReadCandidates(SQLite::Database& database, const Candidate& last, const std::string& owner) {
  std::vector<Candidate> candidates;
  SQLite::Statement query(
      database, absl::StrCat("SELECT j.number, j.end_ns, ", kIsUnread,
                             ","
                             " EXISTS(SELECT 1 FROM files f WHERE f.number=j.number AND f.shared=1),"
                             " (SELECT coalesce(sum(f.bytes), 0) FROM files f WHERE f.number=j.number AND f.shared=0)"
                             " FROM jobs j WHERE j.end_ns IS NOT NULL AND j.release_ns IS NULL AND j.attached=0"
                             " AND (j.end_ns, j.number)>(?, ?) AND (?4='' OR j.owner=?4)"
                             " ORDER BY j.end_ns, j.number LIMIT ?3"));
  query.bind(1, last.end_ns);
  query.bind(2, static_cast<std::int64_t>(last.number));
  query.bind(3, kRowsAtOnce);
  query.bind(4, owner);
  while (query.executeStep()) {
    candidates.push_back({.number = static_cast<std::uint64_t>(query.getColumn(0).getInt64()),
                          .end_ns = query.getColumn(1).getInt64(),
                          .unread = query.getColumn(2).getInt() != 0,
                          .has_shared = query.getColumn(3).getInt() != 0,
                          .bytes = static_cast<std::uint64_t>(query.getColumn(4).getInt64())});
  }
  return candidates;
}

bool ReadSha256(const SQLite::Column& column, Sha256& sha) {
  if (column.getBytes() != static_cast<int>(sha.bytes.size())) return false;
  std::copy_n(static_cast<const std::byte*>(column.getBlob()), sha.bytes.size(), sha.bytes.begin());
  return true;
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
    if (!ReadSha256(query.getColumn(0), file.sha)) continue;
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

class Pass {
 public:
  Pass(Journal& journal, Spool* spool, const PruneBounds& bounds, PruneReport& report)
      : journal_(journal), spool_(spool), bounds_(bounds), report_(report) {}

  bool IsOver() const { return (bounds_.stop && bounds_.stop()) || std::chrono::steady_clock::now() >= end_; }

  absl::Status Run() {
    Candidate last{.end_ns = std::numeric_limits<std::int64_t>::min()};
    std::vector<Candidate> page;
    do {
      absl::Status done =
          With([&](SQLite::Database& database) { page = ReadCandidates(database, last, bounds_.owner); });
      for (const Candidate& job : page) {
        if (done.ok()) done = Consider(job);
        if (!done.ok() || report_.more) return done;
      }
      if (done.ok()) done = Flush();
      if (!done.ok() || report_.more) return done;
      if (!page.empty()) last = page.back();
    } while (page.size() == kRowsAtOnce);
    return absl::OkStatus();
  }

 private:
  template <typename Work>
  absl::Status With(const Work& work) {
    return journal_.With([&](Index& index) {
      return Guarded(index.database(), [&]() -> absl::Status {
        work(index.database());
        return absl::OkStatus();
      });
    });
  }

  absl::Status Consider(const Candidate& job) {
    if (job.unread && !(bounds_.is_fetched && bounds_.is_fetched(job.number))) {
      ++report_.unread;
      report_.unread_bytes += job.bytes;
      return absl::OkStatus();
    }
    if (bounds_.is_needed && bounds_.is_needed(job.number)) return absl::OkStatus();
    const bool old = bounds_.age.count() > 0 && ToNs(bounds_.now) - job.end_ns >= bounds_.age.count();
    const bool much = bounds_.bytes > 0 && (job.bytes > 0 || job.has_shared) && spool_ != nullptr &&
                      spool_->used_bytes() > bounds_.bytes + batch_bytes_;
    if (!old && !much) return absl::OkStatus();
    batch_.push_back(job);
    batch_bytes_ += job.bytes;
    // How much goes with a shared file is known when it has gone.
    return batch_.size() >= bounds_.at_once || (!old && job.has_shared) ? Flush() : absl::OkStatus();
  }

  // The index first: files are never missing while it has them.
  absl::Status Flush() {
    const std::vector<Candidate> batch = std::exchange(batch_, {});
    batch_bytes_ = 0;
    if (batch.empty()) return absl::OkStatus();
    std::vector<std::vector<SharedFile>> shared(batch.size());
    absl::Status failed = With([&](SQLite::Database& database) {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (batch[i].has_shared) shared[i] = SharedOf(database, batch[i].number);
      }
    });
    if (!failed.ok()) return failed;
    std::vector<Record> records;
    records.reserve(batch.size());
    for (const Candidate& job : batch) records.push_back(JobReleased{.number = job.number, .time = bounds_.now});
    const std::vector<absl::Status> released = journal_.WriteAll(std::move(records));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (released[i].ok()) {
        Delete(batch[i], shared[i]);
      } else if (!absl::IsInvalidArgument(released[i]) && failed.ok()) {  // else another prune has released it
        failed = released[i];
      }
    }
    report_.more = failed.ok() && IsOver();
    return failed;
  }

  void Delete(const Candidate& job, const std::vector<SharedFile>& shared) {
    ++report_.released;
    report_.bytes += job.bytes;
    if (spool_ != nullptr) DeleteFiles(job, shared);
    if (bounds_.released) bounds_.released(job.number);
  }

  void DeleteFiles(const Candidate& job, const std::vector<SharedFile>& shared) {
    if (absl::Status removed = spool_->Remove(job.number, job.bytes); !removed.ok()) {
      report_.notes.emplace_back(removed.message());
    }
    for (const SharedFile& file : shared) {
      // On the writer's thread: no job that has the file is accepted between the question and the removal. One that is
      // being stored has it pinned.
      absl::StatusOr<bool> gone = false;
      absl::Status removed = With([&](SQLite::Database& database) {
        if (!IsReferenced(database, file.sha)) gone = spool_->RemoveShared(file.sha, file.bytes);
      });
      if (removed.ok()) removed = gone.status();
      if (!removed.ok()) report_.notes.emplace_back(removed.message());
      if (gone.ok() && *gone) report_.bytes += file.bytes;
    }
  }

  Journal& journal_;
  Spool* const spool_;
  const PruneBounds& bounds_;
  PruneReport& report_;
  const std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + bounds_.longest;
  std::vector<Candidate> batch_;
  std::uint64_t batch_bytes_ = 0;
};

absl::Status Forget(Journal& journal, const PruneBounds& bounds, const Pass& pass, PruneReport& report) {
  const std::int64_t oldest = ToNs(bounds.now - std::chrono::duration_cast<WallTime::duration>(bounds.history_age));
  int dropped = kRowsAtOnce;
  while (dropped == kRowsAtOnce) {
    if (report.forgotten > 0 && pass.IsOver()) {
      report.more = true;
      break;
    }
    absl::Status done = journal.With([&](Index& index) {
      return Guarded(index.database(), [&]() -> absl::Status {
        SQLite::Database& database = index.database();
        const std::string which = absl::StrCat("(SELECT number FROM jobs WHERE end_ns<", oldest,
                                               " AND release_ns IS NOT NULL ORDER BY end_ns LIMIT ", kRowsAtOnce, ")");
        database.exec("BEGIN IMMEDIATE");
        try {
          database.exec(
              "UPDATE facts SET value=max(value, (SELECT coalesce(max(number), 0) FROM jobs)) WHERE name='last "
              "number'");
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
  if (spool != nullptr) {
    if (absl::Status mine = spool->health(); !mine.ok()) return mine;
  }
  Pass pass(journal, spool, bounds, report);
  absl::Status done = pass.Run();
  if (done.ok() && !report.more && bounds.history_age.count() > 0) done = Forget(journal, bounds, pass, report);
  if (!done.ok()) return done;
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
      SQLite::Statement query(index.database(),
                              "SELECT (SELECT coalesce(sum(bytes), 0) FROM files WHERE shared=0) + (SELECT"
                              " coalesce(sum(bytes), 0) FROM (SELECT DISTINCT sha256, bytes FROM files WHERE shared=1"
                              " AND file NOT LIKE 'linked/%'))");
      if (query.executeStep()) bytes = static_cast<std::uint64_t>(query.getColumn(0).getInt64());
      return absl::OkStatus();
    });
  });
  if (!read.ok()) return read;
  return bytes;
}

absl::Status EachPartBut(Journal& journal, const std::string& owner, absl::FunctionRef<void(const PartOfJob&)> take) {
  return journal.With([&](Index& index) {
    return Guarded(index.database(), [&]() -> absl::Status {
      SQLite::Statement query(index.database(),
                              "SELECT j.number, j.owner, j.fetch_ns IS NOT NULL, f.role, f.sha256, f.bytes FROM"
                              " (SELECT number, role, sha256, bytes FROM files UNION ALL"
                              "  SELECT number, NULL, NULL, length(request) FROM requests) f"
                              " JOIN jobs j ON j.number=f.number WHERE j.owner<>?");
      query.bind(1, owner);
      while (query.executeStep()) {
        PartOfJob part{.job = static_cast<std::uint64_t>(query.getColumn(0).getInt64()),
                       .owner = query.getColumn(1).getString(),
                       .fetched = query.getColumn(2).getInt() != 0,
                       .bytes = static_cast<std::uint64_t>(query.getColumn(5).getInt64())};
        if (!query.getColumn(3).isNull()) {
          part.file = static_cast<FileRole>(query.getColumn(3).getInt());
          if (!ReadSha256(query.getColumn(4), part.sha256)) continue;
        }
        take(part);
      }
      return absl::OkStatus();
    });
  });
}

}  // namespace hotplate::journal
