// Reading a pipe to its end, and counting descriptors, for the tests of programs.
#pragma once

#include <dirent.h>
#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "kernels/base/descriptor.h"

namespace hotplate::server {

// All that comes until the stream's end.
inline std::string ReadAll(const Descriptor& from) {
  std::string text;
  for (;;) {
    char block[4096];
    const ssize_t got = read(from.get(), block, sizeof(block));
    if (got > 0) text.append(block, static_cast<std::size_t>(got));
    if (got == 0) return text;
    if (got > 0) continue;
    pollfd readable{from.get(), POLLIN, 0};
    if (poll(&readable, 1, 60'000) == 0) return text + "(nothing more came)";
  }
}

inline std::size_t OpenDescriptors() {
  std::size_t count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

}  // namespace hotplate::server
