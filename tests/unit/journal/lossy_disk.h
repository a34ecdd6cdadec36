// A disk that can fail and lose its power, under SQLite (as a VFS) and under the spool at once. What is written goes to
// real files; what was not synced is remembered, and taken back when the power goes: each unsynced write by the throw
// of a coin, and the newest changes of names from some point on. (kill -9 alone cannot test a sync: the system keeps
// what a dead process wrote.) Operations are counted, so that a test can end its process at each of them in turn.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/descriptor.h"
#include "server/journal/disk.h"

namespace hotplate::journal {

// Thread-safe. One a process, since SQLite's VFS are.
class LossyDisk : public Disk {
 public:
  static constexpr char kVfs[] = "lossy";
  static constexpr int kCutExit = 77;
  enum class Loss { kProcess, kPower };

  static LossyDisk& Get();

  // Forgets everything, and keeps what it needs to take names back in `stash`, a folder on the same file system.
  void Reset(const std::string& stash);
  // Ends the process (kCutExit) before the operation of this number, counted from now, from 1 on.
  void CutAt(std::uint64_t operation, Loss loss, std::uint64_t seed);
  [[noreturn]] void CutNow(Loss loss, std::uint64_t seed);
  std::uint64_t operations();
  // From now on each write and sync fails with this errno; 0: none does.
  void Fail(int error);
  // Syncs fail, and writes do not. As on Linux, what such a sync should have written is never written any more, and the
  // next sync is a success all the same.
  void FailSyncs(int error);
  // Only operations on files whose path has this in it fail.
  void FailOnly(const std::string& part);

  absl::Status Write(const std::string& path, std::span<const Bytes> pieces, Sync sync) override;
  absl::Status Overwrite(const std::string& path, Bytes bytes) override;
  absl::Status Copy(const std::string& from, const std::string& to) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Link(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;
  absl::Status MakeFolder(const std::string& path) override;
  absl::Status RemoveFolder(const std::string& path) override;
  absl::Status SyncFolder(const std::string& path) override;

  // For the VFS.
  struct File {
    Descriptor descriptor;
    struct Undo {
      std::int64_t offset = 0;
      std::string old;         // what was there
      std::int64_t bytes = 0;  // that were written, or cut off
    };
    std::int64_t synced_size = 0;
    std::vector<Undo> undo;
    std::vector<Undo> doomed;  // will not reach the disk, unless it is written once more
  };
  std::shared_ptr<File> Track(const std::string& path);
  void NoteMade(const std::string& path);
  // 0, or the errno that the operation is to fail with.
  int Operation(const std::string& path);
  void NoteWrite(File& file, std::int64_t offset, std::int64_t bytes);
  void NoteTruncate(File& file, std::int64_t size);
  // 0, or the errno that this sync fails with.
  int NoteSync(File& file);
  void NoteNameSync(const std::string& path);
  absl::Status RemoveLocked(const std::string& path);
  std::recursive_mutex& mutex() { return mutex_; }

 private:
  struct NameUndo {
    enum class Kind { kMade, kMadeFolder, kRenamed, kRemoved } kind;
    std::string path, from, stashed;
  };
  LossyDisk();
  std::string Stash(const std::string& path);
  void LosePower(std::uint64_t seed);
  absl::Status Put(const std::string& path, std::string_view content, bool sync);

  std::recursive_mutex mutex_;
  std::string stash_;
  std::uint64_t stashed_ = 0, operations_ = 0, cut_at_ = 0, seed_ = 0;
  Loss loss_ = Loss::kProcess;
  int error_ = 0, sync_error_ = 0;
  std::string fail_only_;
  std::map<std::pair<dev_t, ino_t>, std::shared_ptr<File>> files_;
  std::vector<NameUndo> names_;
};

}  // namespace hotplate::journal
