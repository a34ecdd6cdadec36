#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernels/array/npy.h"

namespace hotplate {
namespace {

constexpr std::size_t kWritePiece = std::size_t{64} << 20;
constexpr int kMostLinks = 40;

// "out" for "out", "a" for "a/out", "/" for "/out".
std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The kernel's own rule for links (fs.protected_symlinks), which reading links by hand would bypass: in a sticky folder
// writable by all (/tmp), a link counts only if it belongs to us or to the folder's owner.
bool MayBeFollowed(const struct stat& link, const std::string& path) {
  struct stat folder {};
  if (link.st_uid == geteuid() || stat(FolderOf(path).c_str(), &folder) != 0) return true;
  const bool shared = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  return !shared || link.st_uid == folder.st_uid;
}

// Resolves symbolic links in `path`; the target need not exist.
std::variant<std::string, NpyError> Target(std::string path) {
  for (int links = 0; links < kMostLinks; ++links) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;  // using the path shows its faults
    if (!MayBeFollowed(status, path)) {
      return NpyError{
          .message = "cannot write it: " + path + " is another user's link in a folder that all may write to",
          .system_error = EACCES};
    }
    std::string target(4096, '\0');
    const ssize_t length = readlink(path.c_str(), target.data(), target.size());
    if (length < 0) return SystemError("cannot write it", errno);  // it was a link a moment ago
    target.resize(static_cast<std::size_t>(length));
    path = target.starts_with('/') ? target : FolderOf(path) + "/" + target;
  }
  return SystemError("cannot write it", ELOOP);
}

// The permissions of the existing file, or nothing if there is none yet.
std::variant<std::optional<mode_t>, NpyError> ModeToKeep(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return SystemError("cannot write it", errno);
  }
  if (S_ISDIR(status.st_mode)) return SystemError("cannot write it", EISDIR);
  if (!S_ISREG(status.st_mode)) {
    return NpyError{.message = "cannot write it: it is a device, a pipe or a socket, not a file",
                    .system_error = EINVAL};
  }
  if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) return SystemError("cannot replace it", errno);
  return std::optional<mode_t>(status.st_mode & 07777);
}

constexpr std::string_view kUnfinishedEnd = ".part";
constexpr std::size_t kNumberDigits = 16;
constexpr std::size_t kLongestHost = 32;
// Entries beyond this many are not looked at: reading such a folder takes too long.
constexpr std::size_t kMostEntries = 100'000;
constexpr std::time_t kDay = 24 * 60 * 60;
constexpr int kAttempts = 100;

// This machine's name as part of a file's, without its domain.
std::string ThisHost() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  std::string host = name;
  host.resize(std::min(host.find('.'), host.size()));
  std::erase_if(host, [](unsigned char c) { return !std::isalnum(c) && c != '-'; });
  host.resize(std::min(host.size(), kLongestHost));
  return host.empty() ? "unknown" : host;
}

// The host in ".NAME.DIGITS.HOST.part"; empty for ".NAME.DIGITS.part" of older versions. Nothing for other files.
std::optional<std::string> HostOfUnfinished(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kUnfinishedEnd)) return std::nullopt;
  name.remove_suffix(kUnfinishedEnd.size());
  const auto last_part = [&name] { return name.substr(std::min(name.rfind('.') + 1, name.size())); };
  const auto is_number = [](std::string_view part) {
    return part.size() == kNumberDigits && part.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  };
  std::string host;
  if (!is_number(last_part())) {
    host = last_part();
    name.remove_suffix(std::min(name.size(), host.size() + 1));
    if (!is_number(last_part())) return std::nullopt;
  }
  return name.size() > kNumberDigits + 2 ? std::optional(host) : std::nullopt;
}

// True if, as far as can be told, nobody writes to this unfinished file any more.
bool IsAbandoned(int descriptor, const std::string& host) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) return false;
  // A lock answers at once if the writer was on this machine and the file system has locks.
  if (host == ThisHost()) {
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno == EWOULDBLOCK) return false;
  }
  return std::time(nullptr) - status.st_mtime >= kDay;
}

std::string UnfinishedName(const std::string& path) {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(getpid());
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  // A name may have 255 bytes: a long one is cut to leave room for the rest.
  return path.substr(0, name) + "." + path.substr(name, 180) + "." + digits + "." + ThisHost() +
         std::string(kUnfinishedEnd);
}

// False: RemoveAbandoned locked the file first, and removes it.
bool LockUnfinished(int descriptor) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;  // some file systems have no locks
  struct stat status {};
  return fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

}  // namespace

Unfinished MakeUnfinished(int folder, const std::string& path, mode_t mode) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string name = UnfinishedName(path);
    const int descriptor = openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (descriptor >= 0 && LockUnfinished(descriptor)) return {descriptor, std::move(name)};
    if (descriptor < 0 && errno != EEXIST && errno != EINTR) return {};
    if (descriptor >= 0) close(descriptor);
  }
  errno = EEXIST;
  return {};
}

std::variant<AtomicFile, NpyError> AtomicFile::Create(const std::string& path) {
  if (path.empty()) return SystemError("cannot write it", ENOENT);
  if (path.back() == '/') return SystemError("cannot write it", EISDIR);
  std::variant<std::string, NpyError> target = Target(path);
  if (auto* error = std::get_if<NpyError>(&target)) return std::move(*error);
  const std::variant<std::optional<mode_t>, NpyError> mode = ModeToKeep(path);
  if (const auto* error = std::get_if<NpyError>(&mode)) return *error;
  std::string final_path = std::get<std::string>(std::move(target));
  Unfinished unfinished = MakeUnfinished(AT_FDCWD, final_path, 0666);
  if (unfinished.descriptor < 0) return SystemError("cannot write to its folder " + FolderOf(final_path), errno);
  AtomicFile file(unfinished.descriptor, std::move(final_path), std::move(unfinished.path));
  const auto& kept = std::get<std::optional<mode_t>>(mode);
  if (kept && fchmod(file.descriptor_, *kept & 0777) != 0) return SystemError("cannot set its permissions", errno);
  return file;
}

void AtomicFile::RemoveAbandoned(const std::string& folder) {
  DIR* const stream = opendir(folder.c_str());
  if (stream == nullptr) return;
  std::size_t entries = 0;
  for (const dirent* entry; entries < kMostEntries && (entry = readdir(stream)) != nullptr; ++entries) {
    const std::optional<std::string> host = HostOfUnfinished(entry->d_name);
    if (!host) continue;
    const int file = openat(dirfd(stream), entry->d_name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    if (IsAbandoned(file, *host)) unlinkat(dirfd(stream), entry->d_name, 0);
    close(file);
  }
  closedir(stream);
}

std::string AtomicFile::folder() const { return FolderOf(path_); }

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  return *this;
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

std::optional<NpyError> AtomicFile::Write(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) return SystemError("cannot write it, it is complete already", EBADF);
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor_, bytes.data(), std::min(bytes.size(), kWritePiece));
    if (count < 0) {
      if (errno == EINTR) continue;
      return SystemError("cannot write it", errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return std::nullopt;
}

std::optional<NpyError> AtomicFile::Sync() {
  if (descriptor_ >= 0 && fdatasync(descriptor_) != 0) return SystemError("cannot write it", errno);
  return std::nullopt;
}

std::optional<NpyError> AtomicFile::Commit() {
  if (descriptor_ < 0) return SystemError("cannot write it, it is complete already", EBADF);
  // Closing reports errors too: over NFS a full quota may only show here.
  const int synced = fsync(descriptor_) == 0 ? 0 : errno;
  const int lock = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);  // until the file has its name
  const int closed = close(std::exchange(descriptor_, -1)) == 0 ? 0 : errno;
  int renamed = 0;
  if (synced == 0 && closed == 0 && rename(temporary_.c_str(), path_.c_str()) != 0) renamed = errno;
  if (lock >= 0) close(lock);
  if (synced != 0 || closed != 0) return SystemError("cannot write it", synced != 0 ? synced : closed);
  if (renamed != 0) return SystemError("cannot put it in place", renamed);
  temporary_.clear();
  // The file is there and whole; this makes its name last through a power cut, where the file system can.
  const int folder = open(FolderOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
  return std::nullopt;
}

}  // namespace hotplate
