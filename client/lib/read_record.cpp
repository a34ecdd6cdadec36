// Which files are trusted as endpoint records.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "client/lib/endpoint.h"
#include "kernels/array/quoted.h"
#include "kernels/array/replaceable.h"
#include "proto/codec/json_file.h"

namespace hotplate::client {
namespace {

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) == nullptr ? "" : resolved;
}

// Checks that only the user can access a file or folder. `mode` is the argument for chmod in the message.
absl::Status CheckPrivate(const struct stat& info, const std::string& what, const std::string& path, mode_t forbidden,
                          const char* mode) {
  if (info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(what + " " + path + " belongs to user " + std::to_string(info.st_uid) +
                                       ", not to you (user " + std::to_string(geteuid()) +
                                       "): it is not used. Choose a folder of your own with HOTPLATE_DIR");
  }
  if ((info.st_mode & forbidden) != 0) {
    return absl::PermissionDeniedError(what + " " + path + " can be read or written by others " +
                                       ModeText(info.st_mode) + ", and it guards your token: chmod " + mode + " " +
                                       path);
  }
  return absl::OkStatus();
}

absl::Status CheckFolder(const std::string& path, mode_t forbidden) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    return absl::UnavailableError("folder " + path + ": " + std::strerror(errno) + "; " + kHowToStart);
  }
  return CheckPrivate(info, "folder", path, forbidden, "700");
}

// Group bits of a file with an access control list are the list's mask: they say what the named users may do at most.
absl::Status CheckGuestsFile(const struct stat& info, const std::string& path, const std::string& guest) {
  if ((info.st_mode & 027) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "record " + path + " of guest " + Quoted(guest) + " can be written by its group or used by all " +
      ModeText(info.st_mode) + ", and it has the guest's token: " + RemedyOf(info.st_uid, "chmod g-w,o= " + path));
}

// Somebody who may write to a folder on the way could put another daemon's record in the place of this one.
absl::Status CheckWayTo(const std::string& given, uid_t owner, const std::string& guest) {
  std::error_code error;
  const std::string path = std::filesystem::absolute(given, error).string();
  const char* const home = std::getenv("HOME");
  const std::string why = WhyReplaceable({.path = error ? given : path,
                                          .owner = owner,
                                          .what = "the record of guest " + Quoted(guest),
                                          .home = home == nullptr ? "" : RealPath(home)});
  return why.empty() ? absl::OkStatus() : absl::PermissionDeniedError(why);
}

// `given` cannot be followed to a file. A link is from `hotplate join`, and leads to a file of the daemon's owner.
absl::Status NotThere(const std::string& given, int error) {
  char target[PATH_MAX];
  const ssize_t length = readlink(given.c_str(), target, sizeof target);
  if (length <= 0) return absl::UnavailableError("record " + given + ": " + std::strerror(error) + "; " + kHowToStart);
  const std::string record(target, static_cast<std::size_t>(length));
  if (error != ENOENT) {
    const std::string message = "record " + record + " (" + given + " leads to it): " + std::strerror(error);
    if (error != EACCES) return absl::UnavailableError(message);
    return absl::PermissionDeniedError(
        message + "; ask its owner to let you enter the folders on the way: setfacl -m u:" + std::to_string(geteuid()) +
        ":x FOLDER");
  }
  const std::string file = given.substr(given.rfind('/') + 1);
  return absl::UnavailableError("record " + record + " is not there (" + given +
                                " leads to it): its daemon has ended, or its owner has revoked your token. It is used "
                                "again when it is back; to forget it: hotplate join --remove " +
                                file.substr(0, file.rfind(".json")));
}

absl::Status CannotBeOpened(const std::string& path, int error) {
  const std::string message = "record " + path + ": " + std::strerror(error);
  if (error != EACCES && error != EPERM) return absl::UnavailableError(message + "; " + kHowToStart);
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || info.st_uid == geteuid()) return absl::PermissionDeniedError(message);
  return absl::PermissionDeniedError(message + "; if you are a guest, " +
                                     RemedyOf(info.st_uid, "setfacl -m u:" + std::to_string(geteuid()) + ":r " + path));
}

}  // namespace

absl::Status CheckDirectory(const std::string& directory) {
  for (const std::string& folder : {directory, directory + "/servers"}) {
    struct stat info;
    if (stat(folder.c_str(), &info) != 0) continue;
    if (const absl::Status status = CheckPrivate(info, "folder", folder, 022, "700"); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<FoundRecord> ReadRecord(const std::string& given) {
  const std::string path = RealPath(given);
  if (path.empty()) return NotThere(given, errno);
  // From here on the open file counts, even if the path is replaced.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return CannotBeOpened(path, errno);
  struct stat info;
  const bool regular = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  // The rules for an owner's record. For whom a record is shows only when it is read.
  absl::Status owners = CheckFolder(ParentOf(path), 077);
  if (owners.ok() && regular) owners = CheckPrivate(info, "record", path, 077, "600");
  absl::StatusOr<std::string> json = absl::FailedPreconditionError("record " + path + " is not a regular file");
  if (regular) json = codec::ReadOpenFile(descriptor, "record " + path);
  close(descriptor);
  if (!json.ok()) return owners.ok() ? json.status() : owners;

  absl::StatusOr<v1::EndpointRecord> record = ParseRecord(*json, path);
  if (!owners.ok()) {
    if (!record.ok() || record->guest().empty()) return owners;
    if (const absl::Status status = CheckGuestsFile(info, path, record->guest()); !status.ok()) return status;
  }
  if (!record.ok()) return record.status();
  if (!record->guest().empty()) {
    if (const absl::Status status = CheckWayTo(given, info.st_uid, record->guest()); !status.ok()) return status;
  }
  return FoundRecord{*std::move(record), path};
}

}  // namespace hotplate::client
