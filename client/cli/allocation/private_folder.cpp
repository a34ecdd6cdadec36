#include "client/cli/allocation/private_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace hotplate::cli {
namespace {

absl::Status CannotBeMade(const std::string& path, int error) {
  const std::string message =
      path + " cannot be made: " + std::strerror(error) + "; choose another place with HOTPLATE_DIR";
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InvalidArgumentError(message);
  }
}

absl::Status CannotBeWritten(const std::string& path, int error) {
  const std::string message = path + " cannot be written: " + std::strerror(error);
  if (error == ENOSPC || error == EDQUOT)
    return absl::ResourceExhaustedError(message + "; make room, or choose another place with HOTPLATE_DIR");
  return absl::PermissionDeniedError(message + "; choose another place with HOTPLATE_DIR");
}

}  // namespace

absl::Status MakePrivateFolder(const std::string& path) {
  if (path.size() >= PATH_MAX) return CannotBeMade(path, ENAMETOOLONG);
  struct stat info;
  if (stat(path.c_str(), &info) == 0) return S_ISDIR(info.st_mode) ? absl::OkStatus() : CannotBeMade(path, ENOTDIR);
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (parent != path && !parent.empty())
    if (const absl::Status status = MakePrivateFolder(parent); !status.ok()) return status;
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return absl::OkStatus();
  return CannotBeMade(path, errno);
}

std::optional<std::string> ReadPrivateFile(const std::string& path, std::size_t longest) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  struct stat info;
  std::optional<std::string> text;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 022) == 0 &&
      info.st_size > 0 && static_cast<std::size_t>(info.st_size) <= longest) {
    text.emplace(static_cast<std::size_t>(info.st_size), '\0');
    if (pread(file, text->data(), text->size(), 0) != info.st_size) text.reset();
  }
  close(file);
  return text;
}

absl::Status WritePrivateFile(const std::string& path, const std::string& text) {
  const std::string draft = path + "." + std::to_string(getpid()) + ".draft";
  const int file = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return CannotBeWritten(path, errno);
  int error = 0;
  for (std::size_t at = 0; at < text.size() && error == 0;) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written > 0)
      at += static_cast<std::size_t>(written);
    else if (errno != EINTR)
      error = errno;
  }
  // A network file system may tell of a full quota only now.
  if (fsync(file) != 0 && error == 0 && errno != EINVAL) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  if (error == 0 && rename(draft.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  unlink(draft.c_str());
  return CannotBeWritten(path, error);
}

}  // namespace hotplate::cli
