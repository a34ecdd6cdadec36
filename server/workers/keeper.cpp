#include "server/workers/keeper.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <vector>

#include "server/workers/process_tree.h"

namespace hotplate::server {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookAtMemory(100);
constexpr std::chrono::milliseconds kKillAgain(5);
// A killed process is gone at once, unless the kernel itself waits for something in its name (a file server).
constexpr std::chrono::seconds kKillFor(10);

constexpr int kThird = STDERR_FILENO + 1;

// The first to go when memory runs out: better a user's program than the daemon with everybody's arrays.
constexpr char kOomScore[] = "500";

std::int64_t Nanoseconds(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1000;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void RaiseOomScore() {
  const Descriptor file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (!file) return;
  const ssize_t ignored = write(file.get(), kOomScore, sizeof(kOomScore) - 1);
  static_cast<void>(ignored);  // it then is as likely to be killed as the daemon
}

// Every descriptor but the standard ones.
void CloseOnExec() {
  if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  // Before Linux 5.11.
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* const entry = readdir(folder)) {
    const int number = std::atoi(entry->d_name);
    if (number > STDERR_FILENO) fcntl(number, F_SETFD, FD_CLOEXEC);
  }
  closedir(folder);
}

// As descriptor 3, after all others were closed on exec.
void GiveThird(int descriptor) {
  if (descriptor == kThird) {
    fcntl(kThird, F_SETFD, 0);
  } else {
    dup2(descriptor, kThird);
  }
}

struct StartError {
  std::int32_t error = 0, bad_folder = 0;
};

// In the child: becomes the program, or tells through `report` why not.
[[noreturn]] void Become(const Program& program, const KeptStreams& streams, int report) {
  if (streams.third && report == kThird) report = fcntl(report, F_DUPFD_CLOEXEC, kThird + 1);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();
  RaiseOomScore();
  umask(program.umask);
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  StartError why;
  if (chdir(program.folder.c_str()) != 0) {
    why = {errno, 1};
  } else {
    dup2(streams.in.get(), STDIN_FILENO);
    dup2(streams.out.get(), STDOUT_FILENO);
    dup2(streams.err.get(), STDERR_FILENO);
    if (program.terminal) ioctl(STDIN_FILENO, TIOCSCTTY, 0);
    CloseOnExec();
    if (streams.third) GiveThird(streams.third.get());
    execve(program.file.c_str(), Pointers(program.arguments).data(), Pointers(program.environment).data());
    why = {errno, 0};
  }
  const ssize_t ignored = write(report, &why, sizeof(why));
  static_cast<void>(ignored);
  _exit(127);
}

class Keeper {
 public:
  // `strays`: what the program abandons need not live until its end.
  Keeper(pid_t supervisor, std::uint64_t memory_bytes, Descriptor control, bool strays)
      : supervisor_(supervisor), memory_bytes_(memory_bytes), strays_(strays), control_(std::move(control)) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGCHLD, SIGTERM}) sigaddset(&signals, number);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signals_.Take(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }

  // False, when the daemon has been told, if it was not started.
  bool Start(const Program& program, KeptStreams streams) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) return NotStarted({errno, 0});
    Descriptor reader(report[0]), writer(report[1]);
    pid_ = fork();
    if (pid_ == 0) Become(program, streams, writer.get());
    if (pid_ < 0) return NotStarted({errno, 0});
    writer.Close();
    // Else nobody would see that the program has closed its own.
    streams = KeptStreams();
    // A file server that does not answer can hold it up for ever; the daemon may give up meanwhile.
    pollfd descriptors[] = {{reader.get(), POLLIN, 0}, {control_.get(), POLLIN, 0}};
    poll(descriptors, 2, -1);
    if (descriptors[0].revents == 0) {
      killing_ = true;
      return true;
    }
    StartError why;
    if (read(reader.get(), &why, sizeof(why)) == sizeof(why)) {
      waitpid(pid_, nullptr, 0);
      return NotStarted(why);
    }
    KeeperNews news;
    news.kind = KeeperNews::Kind::kStarted;
    news.pid = pid_;
    Tell(news);
    return true;
  }

  void TakeOver(pid_t program) {
    pid_ = program;
    Reap();  // it may have ended before its signal could be seen
  }

  void SeeToItsEnd() {
    while (!ended_ && !killing_) {
      Wait(memory_bytes_ != 0 ? std::optional(kLookAtMemory) : std::nullopt);
      if (ended_ || killing_) break;
      if (memory_bytes_ != 0) LookAtMemory();
    }
    const Steady::time_point until = Steady::now() + kKillFor;
    bool told = false;
    while (KillAll()) {
      if (!told && Steady::now() >= until) {
        TellEnd(static_cast<int>(DescendantsOf(getpid()).size()));
        told = true;
      }
      Wait(kKillAgain);
    }
    if (!told) TellEnd(0);
  }

 private:
  bool NotStarted(const StartError& why) {
    KeeperNews news;
    news.kind = KeeperNews::Kind::kNotStarted;
    news.error = why.error;
    news.bad_folder = why.bad_folder;
    Tell(news);
    return false;
  }

  // For a signal, an order, or the time.
  void Wait(std::optional<std::chrono::milliseconds> at_most) {
    pollfd descriptors[] = {{signals_.get(), POLLIN, 0}, {control_.get(), POLLIN, 0}};
    poll(descriptors, 2, at_most ? static_cast<int>(at_most->count()) : -1);
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
      // From the system, since the supervisor is gone: whoever else sends it (a batch system to all of a job's
      // processes) means the program, which has got it too.
      if (info.ssi_signo == SIGTERM && getppid() != supervisor_) killing_ = true;
    }
    if (descriptors[1].revents != 0) Obey();
    Reap();
  }

  void Obey() {
    KeeperOrder order;
    const ssize_t got = recv(control_.get(), &order, sizeof(order), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got != sizeof(order) || order.kind == KeeperOrder::Kind::kKill) {
      killing_ = true;
      if (got <= 0) control_.Close();  // poll ignores it from now on
      return;
    }
    if (!ended_) kill(-pid_, order.signal);
  }

  void Reap() {
    int status = 0;
    rusage use{};
    for (pid_t pid = 0; (pid = wait4(-1, &status, WNOHANG, &use)) > 0;) {
      if (pid != pid_ || ended_) continue;
      ended_ = true;
      end_.wait_status = status;
      end_.user_ns = Nanoseconds(use.ru_utime);
      end_.system_ns = Nanoseconds(use.ru_stime);
      end_.peak_bytes = static_cast<std::uint64_t>(use.ru_maxrss) * 1024;
    }
    if (!strays_ || ended_ || pid_ == 0) return;
    for (const pid_t child : ChildrenOf(getpid())) {
      if (child != pid_) kill(child, SIGKILL);
    }
  }

  void LookAtMemory() {
    const std::vector<pid_t> processes = DescendantsOf(getpid());
    if (OwnBytes(processes) <= memory_bytes_) return;
    if (ProportionalBytes(processes) <= memory_bytes_) return;
    end_.over_memory = 1;
    killing_ = true;
  }

  // False when there is none left. Each is stopped before any is killed, so that none starts another one meanwhile.
  bool KillAll() {
    Reap();
    const std::vector<pid_t> processes = DescendantsOf(getpid());
    for (const pid_t process : processes) kill(process, SIGSTOP);
    for (const pid_t process : processes) kill(process, SIGKILL);
    if (!processes.empty()) return true;
    Reap();
    if (!ended_) kill(pid_, SIGKILL);  // where there is no /proc
    siginfo_t info{};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
  }

  void TellEnd(int left) {
    end_.kind = KeeperNews::Kind::kEnded;
    end_.pid = pid_;
    end_.left = left;
    end_.ended = ended_ ? 1 : 0;
    Tell(end_);
  }

  void Tell(const KeeperNews& news) {
    if (control_) send(control_.get(), &news, sizeof(news), MSG_NOSIGNAL);
  }

  const pid_t supervisor_;
  const std::uint64_t memory_bytes_;
  const bool strays_;
  Descriptor control_, signals_;
  pid_t pid_ = 0;
  bool ended_ = false;
  bool killing_ = false;
  KeeperNews end_;
};

}  // namespace

void Keep(const Program& program, KeptStreams streams) {
  // A warm Python (it has a descriptor 3) keeps nothing but the keepers of scripts: what else comes to us was such a
  // keeper's, which has been killed.
  Keeper keeper(getppid(), program.memory_bytes, std::move(streams.control), program.strays_end);
  if (keeper.Start(program, std::move(streams))) keeper.SeeToItsEnd();
}

void KeepStarted(pid_t program, pid_t supervisor, std::uint64_t memory_bytes, Descriptor control) {
  Keeper keeper(supervisor, memory_bytes, std::move(control), false);
  keeper.TakeOver(program);
  keeper.SeeToItsEnd();
}

}  // namespace hotplate::server
