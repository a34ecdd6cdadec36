#include "client/cli/private_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <climits>
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

}  // namespace hotplate::cli
