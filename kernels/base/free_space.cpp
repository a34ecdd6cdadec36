#include "kernels/base/free_space.h"

#include <fcntl.h>
#include <linux/quota.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace hotplate {
namespace {

// Newer than the C library and the headers that this is built with (Linux 5.14).
constexpr long kQuotactlFd = 443;

std::uint64_t LeftOfQuota(int folder, int type, unsigned id, std::uint64_t most) {
  struct if_dqblk quota {};
  constexpr auto kGet = [](int kind) {
    return static_cast<unsigned>(Q_GETQUOTA) << SUBCMDSHIFT | static_cast<unsigned>(kind);
  };
  if (syscall(kQuotactlFd, folder, kGet(type), id, &quota) != 0) return most;
  if ((quota.dqb_valid & QIF_BLIMITS) == 0 || quota.dqb_bhardlimit == 0) return most;
  const std::uint64_t limit = quota.dqb_bhardlimit << QIF_DQBLKSIZE_BITS;
  return std::min(most, limit - std::min<std::uint64_t>(limit, quota.dqb_curspace));
}

}  // namespace

std::optional<std::uint64_t> FreeSpace(const std::string& folder) {
  struct statvfs facts {};
  if (statvfs(folder.c_str(), &facts) != 0) return std::nullopt;
  std::uint64_t bytes = std::uint64_t{facts.f_bavail} * facts.f_frsize;
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return bytes;
  bytes = LeftOfQuota(descriptor, USRQUOTA, geteuid(), bytes);
  bytes = LeftOfQuota(descriptor, GRPQUOTA, getegid(), bytes);
  close(descriptor);
  return bytes;
}

bool IsOfOneMachine(const std::string& folder) {
  // ext2 to ext4, XFS, Btrfs, ZFS, tmpfs, overlays. By number: not all headers have them.
  constexpr std::uint64_t kTypes[] = {0xEF53, 0x58465342, 0x9123683E, 0x2FC12FC1, 0x01021994, 0x794C7630};
  struct statfs facts {};
  if (statfs(folder.c_str(), &facts) != 0) return false;
  return std::ranges::find(kTypes, static_cast<std::uint64_t>(facts.f_type) & 0xFFFFFFFF) != std::end(kTypes);
}

}  // namespace hotplate
