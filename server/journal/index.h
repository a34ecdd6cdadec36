// The journal's tables: writes records in transactions, and knows the statements for it. Not thread-safe: one thread at
// a time has it.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/journal/database.h"
#include "server/journal/records.h"
#include "server/journal/sums.h"

namespace hotplate::journal {

inline std::int64_t ToNs(WallTime time) { return nanoseconds(time.time_since_epoch()).count(); }
inline WallTime FromNs(std::int64_t ns) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(nanoseconds(ns)));
}

class Index {
 public:
  // Whether a commit returns when it is on the disk, or when the system has it: then a killed daemon loses nothing, a
  // power cut does.
  enum class Sync { kNow, kLater };

  // Opens, makes or migrates the file. `epoch`: written into the rows of this daemon.
  static absl::StatusOr<std::unique_ptr<Index>> Open(const DatabaseOptions& options, std::uint64_t epoch);

  ~Index();

  absl::Status Begin(Sync sync);
  // In a transaction, which has to be rolled back after an error: a part of the record may be in it. ALREADY_EXISTS,
  // NOT_FOUND and INVALID_ARGUMENT (too large, or not in the job's state) are the record's own fault: see IsOfRecord.
  absl::Status Apply(const Record& record);
  absl::Status Add(const Sums& sums);
  // Writes something that changes nothing, to see whether it can be written.
  absl::Status Touch();
  absl::Status Commit();
  void Rollback();
  // Whether the others of the transaction can still be written, without this one, in another transaction.
  static bool IsOfRecord(const absl::Status& error);

  // Outside a transaction: all that was ever committed is on the disk afterwards, and not in the log beside the file.
  absl::Status Checkpoint();

  // Outside a transaction, synced.
  absl::Status BeginDaemon(const DaemonLife& life, WallTime now);
  absl::Status EndDaemon(WallTime now, const std::string& reason);
  absl::Status SetGpus(int gpus);
  // How old results may become here, for whoever prunes this journal when its daemon is gone. 0: any.
  absl::Status SetAge(nanoseconds age);
  // A daemon that did not come to write its end.
  absl::Status NoteLastSeen(std::uint64_t epoch, WallTime seen);

  std::uint64_t epoch() const { return epoch_; }
  // A name of this journal, made when it was: the spool's mark has it too.
  absl::StatusOr<std::string> Id();
  SQLite::Database& database() { return *database_; }

 private:
  struct Statements;
  Index(std::unique_ptr<SQLite::Database> database, std::uint64_t epoch);

  absl::Status Write(const JobAccepted& job);
  absl::Status Write(const JobStarted& job);
  absl::Status Write(const JobRequeued& job);
  absl::Status Write(const JobCancelRequested& job);
  absl::Status Write(const JobEnded& job);
  absl::Status Write(const JobFetched& job);
  absl::Status Write(const JobReleased& job);
  absl::Status Write(const AttachedJob& job);
  absl::Status Write(const ArraySaved& array);
  absl::Status Write(const ArrayGone& array);
  void WriteFiles(std::uint64_t number, const std::vector<SpooledFile>& files);
  void WriteEnd(std::uint64_t number, const std::string& end, const std::string* outputs);
  // Why an update changed no row.
  absl::Status Unchanged(std::uint64_t number, std::string_view record);
  absl::Status SetSync(Sync sync);

  const std::unique_ptr<SQLite::Database> database_;
  const std::uint64_t epoch_;
  std::unique_ptr<Statements> statements_;  // goes before the database
  Sync sync_ = Sync::kNow;
};

}  // namespace hotplate::journal
