#include "server/journal/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "kernels/base/descriptor.h"
#include "kernels/base/free_space.h"

namespace hotplate::journal {
namespace {

constexpr std::size_t kPiece = std::size_t{16} << 20;

// 0, or the errno.
int WriteAll(int file, Disk::Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), std::min(bytes.size(), kPiece));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return 0;
}

// Syncs if asked to, and closes: over NFS a full quota may only show there. The first error counts.
int Finish(Descriptor& file, bool sync, int error) {
  if (error == 0 && sync && fsync(file.get()) != 0) error = errno;
  if (close(file.Release()) != 0 && error == 0) error = errno;
  return error;
}

absl::Status Outcome(const char* what, const std::string& path, int error) {
  return error == 0 ? absl::OkStatus() : DiskError(absl::StrCat(what, " ", path), error);
}

}  // namespace

absl::Status DiskError(const std::string& what, int error) {
  const std::string text = absl::StrCat(what, ": ", std::generic_category().message(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(text);
    case EROFS:
    case EACCES:
    case EPERM:
    case ENOTDIR:
    case ELOOP:
      return absl::FailedPreconditionError(text);
    case EIO:
      return absl::DataLossError(text);
    case ENOENT:
      return absl::NotFoundError(text);
    case EEXIST:
      return absl::AlreadyExistsError(text);
    default:
      return absl::UnavailableError(text);
  }
}

absl::Status MakeLastingFolder(Disk& disk, const std::string& path) {
  const std::string above = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(path, ignored);
  if (is_new && !above.empty() && above != path) {
    if (absl::Status made = MakeLastingFolder(disk, above); !made.ok()) return made;
  }
  if (absl::Status made = disk.MakeFolder(path); !made.ok()) return made;
  // Also for one that is there: whoever made it may have been killed before this. But it may be another user's.
  absl::Status synced = disk.SyncFolder(above.empty() ? "." : above);
  return is_new ? synced : absl::OkStatus();
}

Disk& Disk::Real() {
  static Disk disk;
  return disk;
}

absl::Status Disk::Write(const std::string& path, std::span<const Bytes> pieces, Sync sync) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return DiskError(absl::StrCat("making ", path), errno);
  int error = 0;
  for (const Bytes piece : pieces) {
    if (error == 0) error = WriteAll(file.get(), piece);
  }
  error = Finish(file, sync == Sync::kNow, error);
  if (error != 0) unlink(path.c_str());
  return Outcome("writing", path, error);
}

absl::Status Disk::Overwrite(const std::string& path, Bytes bytes) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return DiskError(absl::StrCat("opening ", path), errno);
  return Outcome("writing", path, Finish(file, true, WriteAll(file.get(), bytes)));
}

absl::Status Disk::Copy(const std::string& from, const std::string& to) {
  const Descriptor source(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!source) return DiskError(absl::StrCat("opening ", from), errno);
  Descriptor target(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!target) return DiskError(absl::StrCat("making ", to), errno);
  std::vector<std::byte> piece(std::size_t{1} << 20);
  int error = 0;
  while (error == 0) {
    const ssize_t count = read(source.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) error = errno;
    if (count <= 0) break;
    error = WriteAll(target.get(), Bytes(piece).first(static_cast<std::size_t>(count)));
  }
  error = Finish(target, true, error);
  if (error != 0) unlink(to.c_str());
  return Outcome("copying to", to, error);
}

absl::Status Disk::Rename(const std::string& from, const std::string& to) {
  return Outcome("renaming to", to, rename(from.c_str(), to.c_str()) == 0 ? 0 : errno);
}

absl::Status Disk::Link(const std::string& from, const std::string& to) {
  if (link(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  const int error = errno;
  // A network file system may repeat a completed request whose answer was lost.
  struct stat one {
  }, other{};
  if (error == EEXIST && stat(from.c_str(), &one) == 0 && stat(to.c_str(), &other) == 0 && one.st_ino == other.st_ino &&
      one.st_dev == other.st_dev) {
    return absl::OkStatus();
  }
  if (error == EPERM || error == ENOTSUP || error == ENOSYS || error == EXDEV || error == EMLINK) {
    return absl::UnimplementedError(absl::StrCat("no hard link ", to, ": ", std::generic_category().message(error)));
  }
  return DiskError(absl::StrCat("making ", to), error);
}

absl::Status Disk::Remove(const std::string& path) {
  const int error = unlink(path.c_str()) == 0 || errno == ENOENT ? 0 : errno;
  return Outcome("removing", path, error);
}

absl::Status Disk::MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  const int failed = errno;
  struct stat facts {};
  if (failed == EEXIST && stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) return absl::OkStatus();
  return DiskError(absl::StrCat("making ", path), failed == EEXIST ? ENOTDIR : failed);
}

absl::Status Disk::RemoveFolder(const std::string& path) {
  const int error = rmdir(path.c_str()) == 0 || errno == ENOENT ? 0 : errno;
  return Outcome("removing", path, error);
}

absl::Status Disk::SyncFolder(const std::string& path) {
  Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return DiskError(absl::StrCat("opening ", path), errno);
  // Some file systems cannot sync a folder, and need not.
  const int error = fsync(folder.get()) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
  return Outcome("syncing", path, error);
}

absl::StatusOr<std::vector<std::string>> Disk::List(const std::string& folder) const {
  DIR* const stream = opendir(folder.c_str());
  if (stream == nullptr) return DiskError(absl::StrCat("reading ", folder), errno);
  std::vector<std::string> names;
  errno = 0;
  for (const dirent* entry; (entry = readdir(stream)) != nullptr; errno = 0) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  const int error = errno;
  closedir(stream);
  if (error != 0) return DiskError(absl::StrCat("reading ", folder), error);
  return names;
}

absl::StatusOr<std::string> Disk::Read(const std::string& path, std::size_t most) const {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return DiskError(absl::StrCat("opening ", path), errno);
  std::string text(most, '\0');
  std::size_t have = 0;
  while (have < most) {
    const ssize_t count = read(file.get(), text.data() + have, most - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return DiskError(absl::StrCat("reading ", path), errno);
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  text.resize(have);
  return text;
}

absl::Status ReplaceFile(Disk& disk, const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  const std::array<Disk::Bytes, 1> pieces = {BytesOf(text)};
  absl::Status done = disk.Remove(draft);
  if (done.ok()) done = disk.Write(draft, pieces, Disk::Sync::kNow);
  if (done.ok()) done = disk.Rename(draft, path);
  return done;
}

std::optional<std::uint64_t> Disk::FreeSpace(const std::string& folder) const { return hotplate::FreeSpace(folder); }

}  // namespace hotplate::journal
