#include "kernels/base/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "kernels/base/descriptor.h"
#include "kernels/base/quantity.h"

extern char** environ;

namespace hotplate {
namespace {

using Steady = std::chrono::steady_clock;

// Between the TERM of a program that takes too long and its KILL.
constexpr std::chrono::seconds kGrace(2);
// How long to wait for the output of an ended program if a child of its own still holds it open.
constexpr std::chrono::milliseconds kLeftOpen(200);
constexpr std::chrono::milliseconds kPoll(20);
// For a killed program to be gone; one that hangs in the kernel is left to it.
constexpr std::chrono::seconds kLastWait(1);

// A stream of the program's, read as it comes.
struct Stream {
  Descriptor reader, writer;
  std::string text;
  std::function<bool(std::string_view)> taker = {};
  bool enough = false;  // said the taker

  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    reader.Take(ends[0]);
    writer.Take(ends[1]);
    return true;
  }
  void Read(std::size_t longest) {
    std::array<char, 16'384> block;
    const ssize_t got = read(reader.get(), block.data(), block.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) return reader.Close();
    if (taker) {
      enough = enough || !taker({block.data(), static_cast<std::size_t>(got)});
      return;
    }
    text.append(block.data(), std::min(static_cast<std::size_t>(got), longest - std::min(longest, text.size())));
  }
};

// The input as an unnamed open file: nothing needs feeding, and a program that does not read it breaks no pipe.
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
std::unique_ptr<std::FILE, CloseFile> InputFile(const std::string& text) {
  std::unique_ptr<std::FILE, CloseFile> file(std::tmpfile());
  if (file && (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() || std::fflush(file.get()) != 0 ||
               lseek(fileno(file.get()), 0, SEEK_SET) != 0))
    file.reset();
  return file;
}

// This process's variables overridden by the call's, in the form that exec takes.
class Variables {
 public:
  explicit Variables(const ProgramCall& call) {
    for (const auto& [name, value] : call.environment) own_.push_back(name + "=" + value);
    for (char** variable = environ; *variable != nullptr; ++variable)
      if (!IsReplaced(*variable, call)) pointers_.push_back(*variable);
    for (std::string& variable : own_) pointers_.push_back(variable.data());
    pointers_.push_back(nullptr);
  }
  char** data() { return pointers_.data(); }

 private:
  static bool IsReplaced(std::string_view variable, const ProgramCall& call) {
    const std::string_view name = variable.substr(0, variable.find('='));
    const auto is_without = [name](std::string_view one) {
      return one.ends_with('*') ? name.starts_with(one.substr(0, one.size() - 1)) : name == one;
    };
    return std::any_of(call.without.begin(), call.without.end(), is_without) ||
           std::any_of(call.environment.begin(), call.environment.end(),
                       [name](const auto& one) { return name == one.first; });
  }

  std::vector<std::string> own_;  // NAME=value
  std::vector<char*> pointers_;
};

absl::StatusOr<pid_t> Spawn(const ProgramCall& call, const std::string& path, int input, int out, int err) {
  std::vector<char*> argv;
  for (const std::string& word : call.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (input >= 0)
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  else
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) sigaddset(&defaults, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  Variables variables(call);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, path.c_str(), &files, &attributes, argv.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return absl::FailedPreconditionError(path + " cannot be started: " + std::strerror(error));
  return pid;
}

// True if the program has ended. It is not reaped, so that its number stays its group's. If our parent had SIGCHLD
// ignored, the system reaps it, and its exit status is unknown.
bool IsOver(pid_t pid) {
  siginfo_t facts{};
  if (waitid(P_PID, static_cast<id_t>(pid), &facts, WEXITED | WNOHANG | WNOWAIT) != 0) return errno == ECHILD;
  return facts.si_pid == pid;
}

// Reads both streams until `deadline`, until `given_up`, or until the program has ended; true if it has.
bool Follow(pid_t pid, Stream& out, Stream& err, std::size_t longest, Steady::time_point deadline,
            const std::function<bool()>& given_up) {
  bool ended = false;
  for (Steady::time_point until = deadline;;) {
    if (!ended && IsOver(pid)) {
      ended = true;
      until = std::min(deadline, Steady::now() + kLeftOpen);
    }
    if (ended && out.reader.get() < 0 && err.reader.get() < 0) return true;
    if (Steady::now() >= until || given_up()) return ended;
    pollfd descriptors[] = {{out.reader.get(), POLLIN, 0}, {err.reader.get(), POLLIN, 0}};  // a closed one is ignored
    poll(descriptors, 2, static_cast<int>(out.reader.get() < 0 && err.reader.get() < 0 ? 1 : kPoll.count()));
    if (descriptors[0].revents != 0) out.Read(longest);
    if (descriptors[1].revents != 0) err.Read(longest);
  }
}

// The exit status by waitpid of a program that has ended or was just killed; nothing if unknown.
std::optional<int> Reap(pid_t pid) {
  int status = 0;
  for (const Steady::time_point end = Steady::now() + kLastWait;;) {
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) return status;
    if ((got < 0 && errno != EINTR) || Steady::now() >= end) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// A folder can be "executed", too.
bool IsProgram(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && access(path.c_str(), X_OK) == 0;
}

absl::Status Stopped(const ProgramCall& call) { return absl::CancelledError(call.words.front() + " was stopped"); }

}  // namespace

std::vector<std::string> OwnVariables() {
  std::vector<std::string> own;
  for (char** variable = environ; *variable != nullptr; ++variable) own.emplace_back(*variable);
  return own;
}

std::optional<std::string> FindProgram(const std::string& program, const VariableReader& environment) {
  if (program.find('/') != std::string::npos) return IsProgram(program) ? std::optional(program) : std::nullopt;
  const std::string path = environment("PATH").value_or("");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate = path.substr(begin, end - begin) + "/" + program;
    if (end > begin && IsProgram(candidate)) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

absl::StatusOr<ProgramResult> RunProgram(const ProgramCall& call, const VariableReader& environment) {
  const std::optional<std::string> path = FindProgram(call.words.front(), environment);
  if (!path) return absl::NotFoundError("no " + call.words.front() + " in PATH");
  Stream out, err;
  if (!out.Open() || !err.Open())
    return absl::ResourceExhaustedError(call.words.front() + ": no pipe: " + std::strerror(errno));
  std::unique_ptr<std::FILE, CloseFile> input;
  if (!call.input.empty() && !(input = InputFile(call.input)))
    return absl::ResourceExhaustedError(call.words.front() +
                                        ": no temporary file for its input: " + std::strerror(errno));
  const auto pid = Spawn(call, *path, input ? fileno(input.get()) : -1, out.writer.get(), err.writer.get());
  if (!pid.ok()) return pid.status();
  out.writer.Close();
  err.writer.Close();

  out.taker = call.on_output;
  const auto given_up = [&] { return out.enough || call.stop.stop_requested(); };
  const bool ended = Follow(*pid, out, err, call.longest_output, Steady::now() + call.timeout, given_up);
  const bool stopped = out.enough || (!ended && given_up());
  if (!ended) {
    kill(-*pid, SIGTERM);
    Follow(*pid, out, err, call.longest_output, Steady::now() + kGrace, [] { return false; });
    kill(-*pid, SIGKILL);  // a child of its own may not have listened
  }
  const std::optional<int> status = Reap(*pid);
  if (stopped) return Stopped(call);
  if (!ended) {
    const std::string said = err.text.empty() ? out.text : err.text;
    return absl::DeadlineExceededError(call.words.front() + " had no answer within " + DurationText(call.timeout) +
                                       (said.empty() ? "" : "; it said: " + said));
  }
  if (!status)
    return absl::InternalError(call.words.front() +
                               " ended, and the system kept no exit code of it, as where SIGCHLD is ignored: whether "
                               "it did what it was asked for is not known");
  return ProgramResult{WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status), std::move(out.text),
                       std::move(err.text)};
}

}  // namespace hotplate
