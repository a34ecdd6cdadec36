#include "server/journal/index_copy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "kernels/base/descriptor.h"
#include "server/journal/fence.h"
#include "server/journal/journal.h"

namespace hotplate::journal {
namespace {

constexpr int kCopyTries = 20;
constexpr std::chrono::milliseconds kPause(10), kLongestPause(200);
constexpr std::size_t kLogHeader = 32;  // bytes, salts included

// Of a file that is opened anew: a network file system then looks.
struct FileState {
  std::tuple<dev_t, ino_t, off_t, time_t, long> facts = {};  // what changes with each write
  std::string header = {};                                   // empty if there is not so much

  static FileState Of(const std::string& path) {
    FileState state;
    struct stat facts {};
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file || fstat(file.get(), &facts) != 0) return state;
    state.facts = {facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
    state.header.resize(kLogHeader);
    if (pread(file.get(), state.header.data(), kLogHeader, 0) != static_cast<ssize_t>(kLogHeader)) state.header.clear();
    return state;
  }
};

struct IndexState {
  FileState file, log;

  static IndexState Of(const std::string& path) { return {FileState::Of(path), FileState::Of(path + "-wal")}; }

  // Whether what was copied between the two is an index.
  bool IsSoundUntil(const IndexState& after) const {
    if (std::get<1>(file.facts) == 0 || std::get<1>(file.facts) != std::get<1>(after.file.facts)) return false;
    if (!log.header.empty()) return log.header == after.log.header;
    // A log may have come and gone.
    return file.facts == after.file.facts && log.facts == after.log.facts;
  }
};

// Copies for a moment need not outlive a power cut.
class UnsyncedDisk : public Disk {
 public:
  absl::Status Copy(const std::string& from, const std::string& to) override {
    std::error_code failed;
    std::filesystem::copy_file(from, to, failed);
    return failed ? DiskError(absl::StrCat("copying ", from, " to ", to), failed.value()) : absl::OkStatus();
  }
};

class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* const named = getenv("TMPDIR");
    path_ = absl::StrCat(named != nullptr && *named == '/' ? named : "/tmp", "/hotplate-journal-XXXXXX");
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    if (path_.empty()) return;
    const absl::StatusOr<std::vector<std::string>> names = Disk::Real().List(path_);
    if (!names.ok()) return;
    for (const std::string& name : *names) Disk::Real().Remove(path_ + "/" + name).IgnoreError();
    Disk::Real().RemoveFolder(path_).IgnoreError();
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

absl::Status CopyIndex(const std::string& from, const std::string& to, Disk& disk) {
  const std::string from_log = from + "-wal", to_log = to + "-wal", unfinished = to + ".new";
  std::chrono::milliseconds pause = kPause;
  for (int attempt = 0; attempt < kCopyTries; ++attempt) {
    for (const std::string& old : {to_log, unfinished}) {
      if (absl::Status removed = disk.Remove(old); !removed.ok()) return removed;
    }
    const IndexState before = IndexState::Of(from);
    absl::Status copied = disk.Copy(from, unfinished);
    if (!copied.ok()) return copied;
    copied = disk.Copy(from_log, to_log);
    if (!copied.ok() && !absl::IsNotFound(copied)) return copied;
    if (before.IsSoundUntil(IndexState::Of(from))) return disk.Rename(unfinished, to);
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
  return absl::UnavailableError(absl::StrCat(from, " is being written to too fast to be copied; try again"));
}

absl::StatusOr<IndexCopy> IndexCopy::Open(const std::string& folder) {
  absl::StatusOr<Owner> owner = Fence::Newest(folder, Disk::Real());
  // A daemon takes it over just now.
  for (int attempt = 0; absl::IsAborted(owner.status()) && attempt < kCopyTries; ++attempt) {
    std::this_thread::sleep_for(kPause);
    owner = Fence::Newest(folder, Disk::Real());
  }
  if (!owner.ok()) return owner.status();
  const TemporaryFolder copies;
  if (copies.path().empty()) return DiskError("making a temporary folder", errno);
  IndexCopy copy(absl::StrCat(folder, "/", owner->index), copies.path() + "/index.sqlite");
  UnsyncedDisk disk;
  absl::Status copied = CopyIndex(copy.original_, copy.copy_, disk);
  if (absl::IsNotFound(copied) && !owner->copy_of.empty()) {
    copy.original_ = absl::StrCat(folder, "/", owner->copy_of);
    copied = CopyIndex(copy.original_, copy.copy_, disk);
  }
  if (absl::IsNotFound(copied)) {
    // A daemon has taken it over meanwhile, with an index of its own.
    const absl::StatusOr<Owner> now = Fence::Newest(folder, Disk::Real());
    if (now.ok() && now->epoch > owner->epoch) return Open(folder);
  }
  if (!copied.ok()) return copied;
  absl::StatusOr<std::unique_ptr<Index>> index = Index::Open({.path = copy.copy_}, owner->epoch);
  if (!index.ok()) return copy.Named(index.status());
  copy.index_ = *std::move(index);
  return copy;
}

absl::Status IndexCopy::Named(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrReplaceAll(status.message(), {{copy_, original_}}));
}

absl::Status ReadCopy(const std::string& folder, absl::FunctionRef<absl::Status(Index&)> work) {
  absl::StatusOr<IndexCopy> copy = IndexCopy::Open(folder);
  return copy.ok() ? copy->With(work) : copy.status();
}

}  // namespace hotplate::journal
