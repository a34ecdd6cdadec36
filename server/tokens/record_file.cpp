#include "server/tokens/record_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "proto/codec/json_file.h"

namespace hotplate::server {
namespace {

// Of local file systems and most others, and of NFS 4.
constexpr const char* kAccessLists[] = {"system.posix_acl_access", "system.nfs4_acl"};

absl::Status Failed(const std::string& what) {
  const int error = errno;
  return absl::FailedPreconditionError(ToAbsl("record_file: " + what + ": " + std::strerror(error)));
}

// Gives the open file the group, and the access control list or else the mode, of another one. Others' bits are never
// taken over: the file has a key.
absl::Status LikeBefore(int file, const std::string& path, const struct stat& before) {
  struct stat own {};
  if (fstat(file, &own) != 0) return Failed("looking at the draft of " + path);
  if (before.st_gid != own.st_gid && fchown(file, static_cast<uid_t>(-1), before.st_gid) != 0)
    return Failed("giving it the group of " + path);
  for (const char* const name : kAccessLists) {
    std::vector<char> list(65536);
    const ssize_t size = getxattr(path.c_str(), name, list.data(), list.size());
    if (size < 0 && (errno == ENODATA || errno == EOPNOTSUPP)) continue;  // it has none, or its file system knows none
    // The list has the mode in it. The mode alone would let the group in.
    if (size >= 0 && fsetxattr(file, name, list.data(), static_cast<std::size_t>(size), 0) == 0)
      return absl::OkStatus();
    return Failed("giving it the access control list of " + path);
  }
  return fchmod(file, before.st_mode & 0640) == 0 ? absl::OkStatus() : Failed("setting the mode of " + path);
}

absl::Status WriteAll(int file, const std::string& text, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Failed("writing " + path);
    done += static_cast<std::size_t>(count);
  }
  return fsync(file) == 0 ? absl::OkStatus() : Failed("writing " + path);
}

}  // namespace

absl::Status CheckGuestFile(const std::string& path, const std::string& guest) {
  if (path.empty() || path.front() != '/')
    return InvalidField("record_file", "record_file must be an absolute path; it is " + Quoted(path));
  struct stat info {};
  const std::string folder = std::filesystem::path(path).parent_path();
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return InvalidField("record_file", "record_file: " + folder + " is no folder on the daemon's node");
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus() : Failed("looking at " + path);
  }
  if (!S_ISREG(info.st_mode)) return InvalidField("record_file", "record_file: " + path + " is not a regular file");
  if (info.st_uid != geteuid())
    return InvalidField("record_file", "record_file: " + path + " belongs to user " + std::to_string(info.st_uid));
  if (info.st_size == 0) return absl::OkStatus();
  v1::EndpointRecord there;
  if (codec::ReadJsonFile(path, there).ok() && there.guest() == guest) return absl::OkStatus();
  return InvalidField("record_file", "record_file: " + path + " is there and is no record of guest " + Quoted(guest) +
                                         ": nothing is overwritten");
}

absl::Status WriteGuestFile(const std::string& path, const v1::EndpointRecord& record) {
  if (absl::Status status = CheckGuestFile(path, record.guest()); !status.ok()) return status;
  const std::string draft = path + "." + std::to_string(getpid()) + ".new";
  unlink(draft.c_str());
  const int file = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return Failed("making " + draft);
  // One that its folder gives to new files would let others in as soon as somebody adds a reader to it.
  fremovexattr(file, kAccessLists[0]);
  absl::Status status = fchmod(file, 0600) == 0 ? absl::OkStatus() : Failed("setting the mode of " + draft);
  struct stat before {};
  if (status.ok() && stat(path.c_str(), &before) == 0) status = LikeBefore(file, path, before);
  if (status.ok()) status = WriteAll(file, codec::ToJson(record), path);
  close(file);
  if (status.ok() && rename(draft.c_str(), path.c_str()) != 0) status = Failed("writing " + path);
  if (!status.ok()) unlink(draft.c_str());
  return status;
}

void RemoveGuestFile(const std::string& path, const std::string& guest, const std::string& daemon) {
  v1::EndpointRecord there;
  if (codec::ReadJsonFile(path, there).ok() && there.guest() == guest && there.name() == daemon) unlink(path.c_str());
}

}  // namespace hotplate::server
