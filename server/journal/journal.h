// The journal of one daemon: what was acknowledged outlives it.
//   1. Open claims the folder (fence.h) and opens the index in it, which SQLite keeps: WAL mode, one connection.
//   2. Recover reads what daemons before this one left. Spool (spool.h) has the files.
//   3. A detached job's inputs go into the spool, then its JobAccepted here, synced; when that is done, the job is
//      acknowledged. Its later records are appended as its events happen.
//   4. Note takes attached jobs once they have ended; they wait for no disk.
//   5. Close writes the rest, and gives the folder to whoever comes next.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "server/journal/disk.h"
#include "server/journal/fence.h"
#include "server/journal/index.h"
#include "server/journal/records.h"
#include "server/journal/recovery.h"
#include "server/journal/writer.h"

namespace hotplate::journal {

struct JournalOptions {
  std::string folder;  // of the index, its log and the fence
  DaemonLife life = {};
  bool take_over = false;                          // even from a daemon that lives
  std::function<bool(const Owner&)> is_gone = {};  // FenceOptions::is_gone
  WriterOptions writer = {};
  // Seams for tests.
  Disk* disk = &Disk::Real();
  std::string vfs = {};
  bool locks = true;
};

// Thread-safe, but for Close.
class Journal {
 public:
  // FAILED_PRECONDITION: another daemon has it (named), or a newer hotplated wrote it, or it must not be written to.
  // DATA_LOSS: it is damaged. RESOURCE_EXHAUSTED: the disk is full.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(JournalOptions options);
  ~Journal();

  // Neither waits. See Durability and Completion in writer.h.
  void Append(Record record, Durability durability, Completion done = nullptr);
  void Note(AttachedJob job, absl::FunctionRef<std::string()> end);
  // Append, and wait until all are on the disk: their outcomes, in order.
  std::vector<absl::Status> WriteAll(std::vector<Record> records);
  absl::Status Write(Record record);
  // OK, or why no detached job is taken now. Asks nobody, and waits for nothing.
  absl::Status Accepting() const { return writer_->health(); }

  absl::StatusOr<Recovered> Recover(const RecoveryBounds& bounds);
  // Runs on the writer's thread between two groups, and waits for it: keep it short.
  absl::Status With(absl::FunctionRef<absl::Status(Index&)> work) { return writer_->Run(work); }

  // The daemon before this one, if there was one, and whether it had closed the journal.
  const std::optional<Owner>& before() const { return fence_->before(); }
  std::uint64_t epoch() const { return fence_->self().epoch; }
  const std::string& id() const { return id_; }

  // Once, with nothing else under way. Without it, as after a kill, nothing acknowledged is lost either.
  absl::Status Close(const std::string& reason);

 private:
  Journal(JournalOptions options, std::unique_ptr<Fence> fence, std::unique_ptr<Index> index, std::string id);

  const JournalOptions options_;
  const std::unique_ptr<Fence> fence_;
  std::unique_ptr<Index> index_;
  const std::string id_;
  std::unique_ptr<Writer> writer_;
};

// Reads a journal without becoming its owner, living daemon or not: from a copy of its index in a temporary folder, as
// it is now. NOT_FOUND if there is none.
absl::Status ReadCopy(const std::string& folder, absl::FunctionRef<absl::Status(Index&)> work);

}  // namespace hotplate::journal
