#include "server/tokens/record_file.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "proto/codec/json_file.h"
#include "server/endpoint.h"

namespace hotplate::server {
namespace {

// Access control lists: of most file systems, and of NFS 4.
constexpr const char* kAccessLists[] = {"system.posix_acl_access", "system.nfs4_acl"};

// Gives the open file the group, and the access control list or else the mode, of another one. Others' bits are never
// taken over: the file has a key. False, and errno says why.
bool LikeBefore(int file, const std::string& path, const struct stat& before) {
  struct stat own {};
  if (fstat(file, &own) != 0) return false;
  if (before.st_gid != own.st_gid && fchown(file, static_cast<uid_t>(-1), before.st_gid) != 0) return false;
  for (const char* const name : kAccessLists) {
    std::vector<char> list(65536);
    const ssize_t size = getxattr(path.c_str(), name, list.data(), list.size());
    if (size < 0 && (errno == ENODATA || errno == EOPNOTSUPP)) continue;  // it has none, or its file system knows none
    // The list has the mode in it. The mode alone would let the group in.
    return size >= 0 && fsetxattr(file, name, list.data(), static_cast<std::size_t>(size), 0) == 0;
  }
  return fchmod(file, before.st_mode & 0640) == 0;
}

// OK if the file is not there, or is empty, or is a record of this guest.
absl::Status CheckGuestFile(const std::string& path, const std::string& guest) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return absl::OkStatus();  // why it cannot be made is told when it is tried
  if (!S_ISREG(info.st_mode)) return InvalidField("record_file", "record_file: " + path + " is not a regular file");
  if (info.st_uid != geteuid())
    return InvalidField("record_file", "record_file: " + path + " belongs to user " + std::to_string(info.st_uid));
  if (info.st_size == 0) return absl::OkStatus();
  v1::EndpointRecord there;
  if (codec::ReadJsonFile(path, there).ok() && there.guest() == guest) return absl::OkStatus();
  return InvalidField("record_file", "record_file: " + path + " is there and is no record of guest " + Quoted(guest) +
                                         ": nothing is overwritten");
}

}  // namespace

absl::Status WriteGuestFile(const std::string& path, const v1::EndpointRecord& record) {
  if (absl::Status status = CheckGuestFile(path, record.guest()); !status.ok()) return status;
  const bool written = WriteWhole(path, codec::ToJson(record), [&](int file) {
    // One that its folder gives to new files would let others in as soon as somebody adds a reader to it.
    fremovexattr(file, kAccessLists[0]);
    struct stat before {};
    return fchmod(file, 0600) == 0 && (stat(path.c_str(), &before) != 0 || LikeBefore(file, path, before));
  });
  if (written) return absl::OkStatus();
  return InvalidField("record_file", "record_file: writing " + path + ": " + std::strerror(errno));
}

void RemoveGuestFile(const std::string& path, const std::string& guest, const std::string& daemon) {
  v1::EndpointRecord there;
  if (codec::ReadJsonFile(path, there).ok() && there.guest() == guest && there.name() == daemon) unlink(path.c_str());
}

}  // namespace hotplate::server
