#include "proto/codec/name_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

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

}  // namespace hotplate::codec
