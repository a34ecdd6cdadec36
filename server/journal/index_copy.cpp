#include "server/journal/index_copy.h"

#include <sys/stat.h>

#include <tuple>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/descriptor.h"
#include "server/journal/fence.h"
#include "server/journal/journal.h"

namespace hotplate::journal {
namespace {

constexpr int kCopyTries = 20;

// What changes with each write.
auto StateOf(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) facts = {};
  return std::tuple(facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

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
  for (int attempt = 0; attempt < kCopyTries; ++attempt) {
    for (const std::string& old : {to_log, unfinished}) {
      if (absl::Status removed = disk.Remove(old); !removed.ok()) return removed;
    }
    const auto before = std::pair(StateOf(from), StateOf(from_log));
    absl::Status copied = disk.Copy(from_log, to_log);
    if (absl::IsNotFound(copied)) copied = absl::OkStatus();
    if (copied.ok()) copied = disk.Copy(from, unfinished);
    if (!copied.ok()) return copied;
    if (before != std::pair(StateOf(from), StateOf(from_log))) continue;
    return disk.Rename(unfinished, to);
  }
  return absl::UnavailableError(absl::StrCat(from, " was written to each time that it was copied"));
}

absl::Status ReadCopy(const std::string& folder, absl::FunctionRef<absl::Status(Index&)> work) {
  const absl::StatusOr<Owner> owner = Fence::Newest(folder, Disk::Real());
  if (!owner.ok()) return owner.status();
  const TemporaryFolder copies;
  if (copies.path().empty()) return DiskError("making a temporary folder", errno);
  const std::string copy = copies.path() + "/index.sqlite";
  absl::Status copied = CopyIndex(absl::StrCat(folder, "/", owner->index), copy, Disk::Real());
  if (absl::IsNotFound(copied) && !owner->copy_of.empty()) {
    copied = CopyIndex(absl::StrCat(folder, "/", owner->copy_of), copy, Disk::Real());
  }
  if (!copied.ok()) return copied;
  const absl::StatusOr<std::unique_ptr<Index>> index = Index::Open({.path = copy}, owner->epoch);
  if (!index.ok()) return index.status();
  return work(**index);
}

}  // namespace hotplate::journal
