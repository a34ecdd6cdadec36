// A real hotplated, started by its path in a folder of its own and ended by its pid.
#pragma once

#include <string>
#include <vector>

#include "tests/temporary_folder.h"
#include "tests/unit/client/fake_daemon.h"

namespace hotplate::client::testing {

class DaemonProcess {
 public:
  // Waits until its record is there; EndsInTime and pid tell more. `arguments` come after those of the test itself.
  explicit DaemonProcess(const std::vector<std::string>& arguments = {});
  ~DaemonProcess();

  bool serving() const { return serving_; }
  const std::string& directory() const { return directory_.path(); }
  pid_t pid() const { return pid_; }
  // Its log, for a failed test's message.
  std::string Log() const;
  // Sends a signal and waits for the end. The exit status as of waitpid, or -1 if it did not end.
  int End(int signal);

 private:
  TemporaryFolder directory_;
  pid_t pid_ = -1;
  bool serving_ = false;
};

}  // namespace hotplate::client::testing
