#include "server/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "kernels/status.h"
#include "server/quantity.h"

namespace hotplate::server {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{100};
// For a killed program to be gone; one that hangs in the kernel is left to it.
constexpr std::chrono::seconds kGrave{1};

// The end of a pipe. Move-only.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { Close(); }
  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void Close() {
    if (number_ >= 0) close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

struct Pipe {
  Descriptor read, write;
};

std::optional<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// As a shell would start it: the signals that this process blocks or ignores are its own business.
int Spawn(const std::vector<std::string>& words, const std::vector<std::string>& environment, int output, int errors,
          pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int error =
      posix_spawnp(&pid, words[0].c_str(), &files, &attributes, Pointers(words).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// Takes what is there. False: `text` has more than it may.
bool Take(Descriptor& from, std::string& text, std::size_t most) {
  char piece[4096];
  const ssize_t count = read(from.number(), piece, sizeof piece);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (count <= 0) {
    from.Close();
    return true;
  }
  text.append(piece, static_cast<std::size_t>(count));
  return text.size() <= most;
}

// Its status, or nothing if it is not over by `end`, or until somebody gives up.
std::optional<int> Reap(pid_t pid, Steady::time_point end, const std::function<bool()>& give_up) {
  for (;;) {
    int status = 0;
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (got < 0 && errno != EINTR) return 0;
    if (Steady::now() >= end || (give_up && give_up())) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

absl::Status Killed(pid_t pid, absl::Status why) {
  kill(-pid, SIGKILL);
  Reap(pid, Steady::now() + kGrave, nullptr);
  return why;
}

}  // namespace

absl::StatusOr<ProgramEnd> RunProgram(const std::vector<std::string>& words,
                                      const std::vector<std::string>& environment, const ProgramLimits& limits,
                                      const std::function<bool()>& give_up) {
  std::optional<Pipe> output = MakePipe(), errors = MakePipe();
  if (!output || !errors) {
    return absl::InternalError(ToAbsl(words[0] + " cannot be started: " + std::strerror(errno)));
  }
  pid_t pid = 0;
  const int error = Spawn(words, environment, output->write.number(), errors->write.number(), pid);
  if (error == ENOENT) return absl::NotFoundError(ToAbsl("there is no " + words[0] + " in PATH"));
  if (error != 0) return absl::UnavailableError(ToAbsl(words[0] + " cannot be started: " + std::strerror(error)));
  output->write.Close();
  errors->write.Close();

  const Steady::time_point end = Steady::now() + limits.timeout;
  ProgramEnd result;
  while (output->read.open() || errors->read.open()) {
    if (give_up && give_up()) return Killed(pid, absl::CancelledError(ToAbsl(words[0] + " is no longer wanted")));
    if (Steady::now() >= end) {
      return Killed(pid, absl::DeadlineExceededError(
                             ToAbsl(words[0] + " did not answer within " + FormatDuration(limits.timeout))));
    }
    // A closed one is -1, which poll leaves out.
    pollfd sources[] = {{output->read.number(), POLLIN, 0}, {errors->read.number(), POLLIN, 0}};
    if (poll(sources, 2, static_cast<int>(kLook.count())) <= 0) continue;
    const bool fits = (sources[0].revents == 0 || Take(output->read, result.output, limits.output_bytes)) &&
                      (sources[1].revents == 0 || Take(errors->read, result.errors, limits.output_bytes));
    if (!fits) {
      return Killed(
          pid, absl::ResourceExhaustedError(ToAbsl(words[0] + " said more than " + FormatBytes(limits.output_bytes))));
    }
  }
  const std::optional<int> status = Reap(pid, end, give_up);
  if (!status) {
    return Killed(
        pid, absl::DeadlineExceededError(ToAbsl(words[0] + " did not end within " + FormatDuration(limits.timeout))));
  }
  result.exit_status = *status;
  return result;
}

}  // namespace hotplate::server
