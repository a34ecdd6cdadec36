#include "client/cli/allocation/local_daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "kernels/base/run_program.h"

extern char** environ;

namespace hotplate::cli {

namespace fs = std::filesystem;

absl::StatusOr<std::string> FindDaemonProgram(const Environment& environment) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const std::string beside = error ? "" : (self.parent_path() / "hotplated").string();
  if (!beside.empty() && access(beside.c_str(), X_OK) == 0) return beside;
  if (const auto found = FindProgram("hotplated", environment)) return *found;
  return absl::NotFoundError("no hotplated to start: looked for " + (beside.empty() ? "hotplated" : beside) +
                             " and in PATH");
}

absl::StatusOr<DaemonProcess> DaemonProcess::Start(const std::string& program, const std::vector<std::string>& words,
                                                   const std::string& log_path) {
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  // A pipe of the caller's that the daemon held open would keep `hotplate up | …` from ending.
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
#endif
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&defaults, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  // OpenBLAS's idle threads otherwise spin for milliseconds after each product, at the cost of every small job.
  setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &files, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return absl::FailedPreconditionError(program + " cannot be started: " + std::strerror(error));
  return DaemonProcess(pid);
}

std::optional<int> DaemonProcess::Ended() {
  int status = 0;
  if (!ended_ && waitpid(pid_, &status, WNOHANG) == pid_)
    ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended_;
}

std::string LogTail(const std::string& path, std::size_t offset, std::size_t lines) {
  constexpr std::size_t kMost = 16'384;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size <= offset) return "";
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(size - std::min<std::uintmax_t>(size - offset, kMost)));
  std::vector<std::string> tail;
  for (std::string line; std::getline(file, line);) {
    tail.push_back(line);
    if (tail.size() > lines) tail.erase(tail.begin());
  }
  std::string text;
  for (const std::string& line : tail) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace hotplate::cli
