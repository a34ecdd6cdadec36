#include "server/journal/journal.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "server/journal/index_copy.h"

namespace hotplate::journal {
namespace {

// Old indexes, which writers that lost the journal may still have open.
void RemoveOldIndexes(const Fence& fence, Disk& disk, const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = disk.List(folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string index = name.substr(0, name.find(".sqlite"));
    if (!name.starts_with("index-") || index + ".sqlite" == fence.self().index) continue;
    disk.Remove(fence.Path(name)).IgnoreError();
  }
}

absl::StatusOr<std::unique_ptr<Index>> OpenIndex(const JournalOptions& options, const Fence& fence) {
  const std::string path = fence.Path(fence.self().index);
  if (!fence.copy_from().empty()) {
    absl::Status copied = CopyIndex(fence.Path(fence.copy_from()), path, *options.disk);
    // A daemon may have died before it had an index.
    if (!copied.ok() && !absl::IsNotFound(copied)) return copied;
  }
  const DatabaseOptions database{.path = path, .vfs = options.vfs, .has_locks = fence.has_locks()};
  absl::StatusOr<std::unique_ptr<Index>> index = Index::Open(database, fence.self().epoch);
  if (!index.ok()) return index;
  // SQLite syncs what is in its files, not the name of a new one.
  absl::Status ready = options.disk->SyncFolder(options.folder);
  if (ready.ok()) ready = (*index)->BeginDaemon(options.life, fence.self().since);
  const std::optional<Owner>& before = fence.before();
  if (ready.ok() && before && before->seen != WallTime()) {
    ready = (*index)->NoteLastSeen(before->epoch, before->seen);
  }
  if (!ready.ok()) return ready;
  return index;
}

}  // namespace

Journal::Journal(JournalOptions options, std::unique_ptr<Fence> fence, std::unique_ptr<Index> index, std::string id)
    : options_(std::move(options)), fence_(std::move(fence)), index_(std::move(index)), id_(std::move(id)) {
  writer_ = std::make_unique<Writer>(*index_, *fence_, options_.writer);
}

Journal::~Journal() = default;

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(JournalOptions options) {
  absl::StatusOr<std::unique_ptr<Fence>> fence = Fence::Claim({.folder = options.folder,
                                                               .life = options.life,
                                                               .is_gone = options.is_gone,
                                                               .take_over = options.take_over,
                                                               .locks = options.locks,
                                                               .disk = options.disk});
  if (!fence.ok()) return fence.status();
  absl::StatusOr<std::unique_ptr<Index>> index = OpenIndex(options, **fence);
  absl::StatusOr<std::string> id = index.ok() ? (*index)->Id() : index.status();
  if (!id.ok()) {
    // Others need not wait for this daemon; unless they have to make the copy that it could not make.
    if ((*fence)->copy_from().empty()) (*fence)->End().IgnoreError();
    return id.status();
  }
  RemoveOldIndexes(**fence, *options.disk, options.folder);
  return std::unique_ptr<Journal>(
      new Journal(std::move(options), *std::move(fence), *std::move(index), *std::move(id)));
}

void Journal::Append(Record record, Durability durability, Completion done) {
  writer_->Append(std::move(record), durability, std::move(done));
}

void Journal::Note(AttachedJob job, absl::FunctionRef<std::string()> end) { writer_->Note(std::move(job), end); }

std::vector<absl::Status> Journal::WriteAll(std::vector<Record> records) {
  absl::BlockingCounter left(static_cast<int>(records.size()));
  std::vector<absl::Status> results(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    Append(std::move(records[i]), Durability::kSynced, [&, i](const absl::Status& status) {
      results[i] = status;
      left.DecrementCount();
    });
  }
  left.Wait();
  return results;
}

absl::Status Journal::Write(Record record) {
  std::vector<Record> one;
  one.push_back(std::move(record));
  return WriteAll(std::move(one)).front();
}

absl::StatusOr<Recovered> Journal::Recover(const RecoveryBounds& bounds) {
  Recovered recovered;
  absl::Status read = With([&](Index& index) -> absl::Status {
    absl::StatusOr<Recovered> all = journal::Recover(index, bounds);
    if (!all.ok()) return all.status();
    recovered = *std::move(all);
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return recovered;
}

absl::Status Journal::Close(const std::string& reason) {
  writer_->Stop();
  absl::Status closed = writer_->health();
  if (closed.ok()) closed = index_->EndDaemon(WallTime::clock::now(), reason);
  if (closed.ok()) closed = index_->Checkpoint();
  // The next owner opens the same file.
  index_.reset();
  if (closed.ok()) closed = fence_->End();
  return closed;
}

}  // namespace hotplate::journal
