// Starting a daemon on this machine, as a process that outlives this one.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/settings.h"

namespace hotplate::cli {

// hotplated beside this program, else in PATH. NOT_FOUND says where it was looked for.
absl::StatusOr<std::string> FindDaemonProgram(const Environment& environment);

// A child process that leads a session of its own: no terminal, no input, output appended to a log.
class DaemonProcess {
 public:
  static absl::StatusOr<DaemonProcess> Start(const std::string& program, const std::vector<std::string>& words,
                                             const std::string& log_path);
  int pid() const { return pid_; }
  // The exit status once it has ended (128 + n for signal n), else nothing. Does not wait.
  std::optional<int> Ended();

 private:
  explicit DaemonProcess(int pid) : pid_(pid) {}
  int pid_;
  std::optional<int> ended_;
};

// The last lines of a log from `offset` on, to say why a daemon did not start.
std::string LogTail(const std::string& path, std::size_t offset, std::size_t lines);

}  // namespace hotplate::cli
