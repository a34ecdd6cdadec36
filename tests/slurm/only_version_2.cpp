// Preloaded into slurmd where a machine has control groups of both versions: Slurm's plugin for version 2 refuses such
// a machine, by what /proc/PID/cgroup says of a process. This shows it the line of version 2 alone.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace {

using Open = int (*)(const char*, int, mode_t);

bool IsOfAProcess(std::string_view path) { return path.starts_with("/proc/") && path.ends_with("/cgroup"); }

// What can be read from `file`, but for the lines of version 1. Closes `file`.
int WithoutVersion1(int file) {
  std::string text;
  char block[4096];
  for (ssize_t count; (count = read(file, block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(count));
  close(file);
  const std::string kept = text.substr(std::min(text.find("0::"), text.size()));
  const int shown = memfd_create("cgroup", MFD_CLOEXEC);
  if (shown < 0) return -1;
  if (write(shown, kept.data(), kept.size()) >= 0 && lseek(shown, 0, SEEK_SET) == 0) return shown;
  close(shown);
  return -1;
}

int OpenBy(const char* function, const char* path, int flags, mode_t mode) {
  const auto real = reinterpret_cast<Open>(dlsym(RTLD_NEXT, function));
  const int file = real(path, flags, mode);
  return file >= 0 && IsOfAProcess(path) ? WithoutVersion1(file) : file;
}

}  // namespace

// In the place of the C library's, which may be called without a mode: then none is looked at.
extern "C" {

__attribute__((visibility("default"))) int open(const char* path, int flags, mode_t mode) {
  return OpenBy("open", path, flags, mode);
}

__attribute__((visibility("default"))) int open64(const char* path, int flags, mode_t mode) {
  return OpenBy("open64", path, flags, mode);
}
}
