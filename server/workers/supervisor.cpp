#include "server/workers/supervisor.h"

#include <poll.h>
#include <signal.h>
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

std::string Reason() { return std::strerror(errno); }

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
      ReceivedMessage asked = ReceiveMessage(socket_.get(), kStartMessage.size());
      if (asked.what == ReceivedMessage::What::kEnd) return;  // the keepers see that the daemon is gone
      if (asked.descriptors.size() >= ProgramStart::kPlaces) Begin(std::move(asked.descriptors));
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
      send(asked[ProgramStart::kControl].get(), &news, sizeof(news), MSG_NOSIGNAL);
    }
    if (keeper != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != self) _exit(0);
    prctl(PR_SET_NAME, "hotplate-keeper");
    socket_.Close();
    const Program program = ProgramOf(ReadAll(asked[ProgramStart::kText]));
    asked[ProgramStart::kText].Close();
    KeptStreams streams{std::move(asked[ProgramStart::kControl]), std::move(asked[ProgramStart::kIn]),
                        std::move(asked[ProgramStart::kOut]), std::move(asked[ProgramStart::kErr]), Descriptor()};
    if (asked.size() > ProgramStart::kPlaces) streams.third = std::move(asked[ProgramStart::kPlaces]);
    Keep(program, std::move(streams));
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

}  // namespace

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

absl::StatusOr<RunningProgram> Supervisor::Start(const Program& program, const std::function<bool()>& give_up,
                                                 Descriptor third) {
  absl::StatusOr<ProgramStart> start = ProgramStart::Of(program);
  if (!start.ok()) return start.status();
  {
    MutexLock lock(mutex_);
    if (!SendMessage(socket_.get(), kStartMessage, start->numbers(third))) {
      if (errno != EPIPE && errno != ECONNRESET) {
        return absl::ResourceExhaustedError(program.file + " was not started: " + Reason());
      }
      return absl::UnavailableError("the supervisor of programs is gone: restart the daemon");
    }
  }
  third.Close();
  const absl::StatusOr<KeeperNews> news = start->Await(program, give_up);
  if (!news.ok()) return news.status();
  if (news->kind == KeeperNews::Kind::kNotStarted) return NotStarted(program, *news);
  return std::move(start->running);
}

}  // namespace hotplate::server
