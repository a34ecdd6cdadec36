// The spool's files that several jobs may have: written once for each content, or linked where the array has a file of
// its own, and there as long as one job has them.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "server/journal/spool.h"

namespace hotplate::journal {
namespace {

std::string SharedPath(const char* folder, const Sha256& sha, bool npy) {
  return absl::StrCat(folder, "/", sha.Hex(), npy ? ".npy" : ".bin");
}

}  // namespace

absl::Status Spool::StoreShared(std::span<const Disk::Bytes> pieces, const std::string& other, SpooledFile& file,
                                Stored& stored) {
  const Sha256& sha = file.sha256;
  {
    MutexLock lock(mutex_);
    while (shared_[sha].writing) written_.Wait(mutex_);
    ++shared_[sha].pins;
    shared_[sha].writing = true;
    stored.pins_.push_back(sha);
  }
  const absl::Status placed = PlaceShared(pieces, other, file);
  MutexLock lock(mutex_);
  shared_[sha].writing = false;
  written_.NotifyAll();
  return placed;
}

absl::Status Spool::PlaceShared(std::span<const Disk::Bytes> pieces, const std::string& other, SpooledFile& file) {
  Disk& disk = *options_.disk;
  const auto sync = [&](const char* folder) { return disk.SyncFolder(absl::StrCat(options_.root, "/", folder)); };
  for (const char* const folder : kSharedFolders) {
    file.file = SharedPath(folder, file.sha256, file.signature.has_value());
    // A daemon that was killed may have left the name unsynced.
    if (access(PathOf(file).c_str(), F_OK) == 0) return sync(folder);
  }
  absl::Status linked;
  if (!other.empty()) {
    linked = CheckFile(other, file);
    if (linked.ok()) linked = disk.Link(other, PathOf(file));
    // The job has these bytes, whatever becomes of the array: a program that would write over them is told.
    if (linked.ok() && chmod(other.c_str(), S_IRUSR) != 0) {
      linked = DiskError("making " + other + " read-only", errno);
      disk.Remove(PathOf(file)).IgnoreError();
    }
    if (linked.ok()) return sync("linked");
  }
  file.file = SharedPath("shared", file.sha256, file.signature.has_value());
  if (absl::Status room = Reserve(file.bytes); !room.ok()) {
    if (linked.ok()) return room;
    return absl::Status(room.code(),
                        absl::StrCat(room.message(), ", and the array's own file is of no use: ", linked.message()));
  }
  // It has its name only once it is whole and on the disk.
  const std::string unfinished = absl::StrCat(options_.root, "/shared/.", file.sha256.Hex(), ".new");
  absl::Status written = disk.Remove(unfinished);
  if (written.ok()) written = disk.Write(unfinished, pieces, Disk::Sync::kNow);
  if (written.ok()) written = disk.Rename(unfinished, PathOf(file));
  if (!written.ok()) {
    GiveBack(file.bytes);
    return written;
  }
  return sync("shared");
}

absl::StatusOr<bool> Spool::RemoveShared(const Sha256& sha, std::uint64_t bytes) {
  if (absl::Status mine = health(); !mine.ok()) return mine;
  {
    MutexLock lock(mutex_);
    if (shared_.contains(sha)) return false;
    // Nobody begins to use it meanwhile.
    shared_[sha].writing = true;
  }
  absl::Status removed;
  bool counted = false;
  for (const bool npy : {true, false}) {
    for (const char* const folder : kSharedFolders) {
      const std::string path = absl::StrCat(options_.root, "/", SharedPath(folder, sha, npy));
      counted |= folder == kSharedFolders[0] && access(path.c_str(), F_OK) == 0;
      if (removed.ok()) removed = options_.disk->Remove(path);
    }
  }
  {
    MutexLock lock(mutex_);
    shared_[sha].writing = false;
    if (shared_[sha].pins == 0) shared_.erase(sha);
    written_.NotifyAll();
  }
  if (!removed.ok()) return removed;
  if (counted) GiveBack(bytes);
  return true;
}

void Spool::Unpin(const std::vector<Sha256>& pins) {
  MutexLock lock(mutex_);
  for (const Sha256& sha : pins) {
    const auto shared = shared_.find(sha);
    if (shared != shared_.end() && --shared->second.pins == 0 && !shared->second.writing) shared_.erase(shared);
  }
}

}  // namespace hotplate::journal
