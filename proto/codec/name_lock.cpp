#include "proto/codec/name_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "kernels/array/quoted.h"

namespace hotplate::codec {

std::string NameLockFile(const std::string& directory, const std::string& name) {
  return directory + "/servers/" + name + ".lock";
}

bool IsNameFree(const std::string& directory, const std::string& name) {
  const int lock = open(NameLockFile(directory, name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (lock < 0) return errno == ENOENT;
  const bool free = flock(lock, LOCK_SH | LOCK_NB) == 0;
  close(lock);
  return free;
}

absl::StatusOr<int> HoldName(const std::string& directory, const std::string& name) {
  const std::string path = NameLockFile(directory, name);
  const int lock = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0 && errno == ENOENT) return lock;
  if (lock < 0) return absl::PermissionDeniedError(path + " cannot be opened");
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const bool taken = errno == EWOULDBLOCK;
    close(lock);
    if (taken) return absl::FailedPreconditionError("a daemon has the name " + Quoted(name));
    return -1;
  }
  // Whom a daemon names that finds it taken.
  const std::string text = std::to_string(getpid()) + "\n" + kPrunes + "\n";
  if (ftruncate(lock, 0) != 0 || pwrite(lock, text.data(), text.size(), 0) < 0) {
    close(lock);
    return absl::PermissionDeniedError(path + " cannot be written to");
  }
  return lock;
}

}  // namespace hotplate::codec
