#include "tests/unit/client/daemon_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "client/lib/endpoint.h"

namespace hotplate::client::testing {

DaemonProcess::DaemonProcess(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {std::string(HOTPLATE_BIN_DIR) + "/hotplated",
                                      "--directory",
                                      directory(),
                                      "--listen",
                                      "127.0.0.1",
                                      "--device",
                                      "cpu"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const std::string log = directory() + "/test.log";
  pid_ = fork();
  if (pid_ == 0) {
    const int out = open(log.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(out, 1);
    dup2(out, 2);
    // A test that is ended from outside takes its daemon along.
    execv(argv[0], argv.data());
    _exit(127);
  }
  Eventually([this] {
    serving_ = FindRecord("local", directory()).ok();
    return serving_ || waitpid(pid_, nullptr, WNOHANG) == pid_;
  });
}

DaemonProcess::~DaemonProcess() { End(SIGKILL); }

std::string DaemonProcess::Log() const {
  std::stringstream text;
  text << std::ifstream(directory() + "/test.log").rdbuf() << std::ifstream(directory() + "/logs/local.log").rdbuf();
  return text.str();
}

int DaemonProcess::End(int signal) {
  if (pid_ <= 0) return -1;
  kill(pid_, signal);
  int status = -1;
  const bool ended = Eventually([&] { return waitpid(pid_, &status, WNOHANG) != 0; });
  pid_ = -1;
  return ended ? status : -1;
}

}  // namespace hotplate::client::testing
