#include "server/workers/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/workers/descriptor_message.h"
#include "server/workers/process_tree.h"

namespace hotplate::server {
namespace {

// The descriptors that go with the message which asks for a program.
enum Place { kText, kControl, kIn, kOut, kErr, kPlaces };

constexpr std::chrono::milliseconds kLookAtGivingUp(20);

std::string Reason() { return std::strerror(errno); }

Descriptor FileWith(const std::string& text) {
  Descriptor file(memfd_create("hotplate-program", MFD_CLOEXEC));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return Descriptor();
  return file;
}

std::string ReadAll(const Descriptor& file) {
  std::string text(static_cast<std::size_t>(lseek(file.get(), 0, SEEK_END)), '\0');
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

// The supervisor's process.
class SupervisorProcess {
 public:
  SupervisorProcess(Descriptor socket, pid_t daemon) : socket_(std::move(socket)), daemon_(daemon) {}

  void Run() {
    sigset_t signals;
    sigfillset(&signals);  // a Ctrl-C at the daemon's terminal is the daemon's to handle
    sigprocmask(SIG_SETMASK, &signals, nullptr);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    const Descriptor ended(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    // The daemon forbids it, since it has secrets. Here it would hide our own /proc from us.
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_SET_NAME, "hotplate-super");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != daemon_) return;
    setsid();  // what is sent to the daemon's process group is for the daemon
    for (;;) {
      pollfd descriptors[] = {{socket_.get(), POLLIN, 0}, {ended.get(), POLLIN, 0}};
      poll(descriptors, 2, -1);
      signalfd_siginfo info;
      while (read(ended.get(), &info, sizeof(info)) == sizeof(info)) {
      }
      Reap();
      if (descriptors[0].revents == 0) continue;
      std::optional<std::vector<Descriptor>> asked = ReceiveDescriptors(socket_.get(), kPlaces);
      if (!asked) return;  // the keepers see that the daemon is gone
      if (!asked->empty()) Begin(*std::move(asked));
    }
  }

 private:
  void Begin(std::vector<Descriptor> asked) {
    const pid_t self = getpid();
    const pid_t keeper = fork();
    if (keeper > 0) keepers_.insert(keeper);
    if (keeper < 0) {
      KeeperNews news;
      news.kind = KeeperNews::Kind::kNotStarted;
      news.error = errno;
      send(asked[kControl].get(), &news, sizeof(news), MSG_NOSIGNAL);
    }
    if (keeper != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != self) _exit(0);
    prctl(PR_SET_NAME, "hotplate-keeper");
    socket_.Close();
    const Program program = ProgramOf(ReadAll(asked[kText]));
    asked[kText].Close();
    Keep(program, {std::move(asked[kControl]), std::move(asked[kIn]), std::move(asked[kOut]), std::move(asked[kErr])});
    _exit(0);
  }

  // A keeper that is killed leaves what it kept to us; so does each process of that which is killed here.
  void Reap() {
    for (pid_t pid = 0; (pid = waitpid(-1, nullptr, WNOHANG)) > 0;) keepers_.erase(pid);
    for (const pid_t child : ChildrenOf(getpid())) {
      if (!keepers_.contains(child)) kill(child, SIGKILL);
    }
  }

  Descriptor socket_;
  const pid_t daemon_;
  std::set<pid_t> keepers_;
};

absl::Status NotStarted(const Program& program, const KeeperNews& news) {
  const std::string why = std::strerror(news.error);
  if (news.error == EAGAIN || news.error == ENOMEM) {
    return absl::ResourceExhaustedError(
        absl::StrCat(program.file, " was not started: the system has no room for a process (", why, ")"));
  }
  if (news.bad_folder != 0) {
    return absl::FailedPreconditionError(absl::StrCat("the folder ", program.folder, " cannot be entered: ", why));
  }
  return absl::FailedPreconditionError(absl::StrCat(program.file, " cannot be executed: ", why));
}

}  // namespace

void RunningProgram::Signal(int number) const {
  const KeeperOrder order{KeeperOrder::Kind::kSignal, number};
  send(control.get(), &order, sizeof(order), MSG_NOSIGNAL);
}

void RunningProgram::Kill() const {
  const KeeperOrder order{KeeperOrder::Kind::kKill, 0};
  send(control.get(), &order, sizeof(order), MSG_NOSIGNAL);
}

absl::StatusOr<ProgramEnd> RunningProgram::End() const {
  KeeperNews news;
  if (recv(control.get(), &news, sizeof(news), 0) != sizeof(news)) {
    return absl::InternalError("the process that kept the program is gone: how the program ended is not known");
  }
  ProgramEnd end;
  if (news.ended != 0 && WIFSIGNALED(news.wait_status)) end.use.signal = WTERMSIG(news.wait_status);
  if (news.ended != 0 && WIFEXITED(news.wait_status)) end.use.exit_code = WEXITSTATUS(news.wait_status);
  end.use.user = std::chrono::nanoseconds(news.user_ns);
  end.use.system = std::chrono::nanoseconds(news.system_ns);
  end.use.peak_bytes = news.peak_bytes;
  end.over_memory = news.over_memory != 0;
  end.left = news.left;
  return end;
}

absl::StatusOr<std::unique_ptr<Supervisor>> Supervisor::Fork() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ResourceExhaustedError("no socket for the supervisor of users' programs: " + Reason());
  }
  Descriptor ours(ends[0]), theirs(ends[1]);
  const pid_t daemon = getpid();
  const pid_t pid = fork();
  if (pid < 0) return absl::ResourceExhaustedError("no process for the supervisor of users' programs: " + Reason());
  if (pid == 0) {
    ours.Close();
    SupervisorProcess(std::move(theirs), daemon).Run();
    _exit(0);
  }
  return std::unique_ptr<Supervisor>(new Supervisor(pid, std::move(ours)));
}

Supervisor::~Supervisor() {
  shutdown(socket_.get(), SHUT_RDWR);
  waitpid(pid_, nullptr, 0);
}

bool Supervisor::alive() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

absl::StatusOr<RunningProgram> Supervisor::Start(const Program& program, const std::function<bool()>& give_up) {
  std::array<Descriptor, kPlaces> theirs;
  RunningProgram running;
  int ends[2];
  const auto open_pipe = [&](Descriptor& reader, Descriptor& writer, const Descriptor& ours) {
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    reader.Take(ends[0]);
    writer.Take(ends[1]);
    return fcntl(ours.get(), F_SETFL, O_NONBLOCK) == 0;
  };
  theirs[kText] = FileWith(TextOf(program));
  const bool sockets = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
  if (sockets) {
    running.control.Take(ends[0]);
    theirs[kControl].Take(ends[1]);
  }
  if (!sockets || !theirs[kText] || !open_pipe(theirs[kIn], running.in, running.in) ||
      !open_pipe(running.out, theirs[kOut], running.out) || !open_pipe(running.err, theirs[kErr], running.err)) {
    return absl::ResourceExhaustedError("no pipe for " + program.file + ": " + Reason());
  }
  std::array<int, kPlaces> numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = theirs[i].get();
  {
    MutexLock lock(mutex_);
    if (!SendDescriptors(socket_.get(), numbers)) {
      if (errno != EPIPE && errno != ECONNRESET) {
        return absl::ResourceExhaustedError(program.file + " was not started: " + Reason());
      }
      return absl::UnavailableError("the supervisor of programs is gone: restart the daemon");
    }
  }
  for (Descriptor& one : theirs) one.Close();
  pollfd told{running.control.get(), POLLIN, 0};
  while (poll(&told, 1, static_cast<int>(kLookAtGivingUp.count())) == 0) {
    if (give_up()) return absl::CancelledError(program.file + " was cancelled before it had begun");
  }
  KeeperNews news;
  if (recv(running.control.get(), &news, sizeof(news), 0) != sizeof(news)) {
    return absl::UnavailableError(program.file + " was not started: its keeper is gone");
  }
  if (news.kind == KeeperNews::Kind::kNotStarted) return NotStarted(program, news);
  running.pid = news.pid;
  return running;
}

}  // namespace hotplate::server
