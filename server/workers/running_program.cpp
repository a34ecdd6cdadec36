#include "server/workers/running_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hotplate::server {
namespace {

constexpr std::chrono::milliseconds kLookAtGivingUp(20);

constexpr std::size_t kLongestText = 256;

Descriptor FileWith(const std::string& text) {
  Descriptor file(memfd_create("hotplate-program", MFD_CLOEXEC));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return Descriptor();
  return file;
}

}  // namespace

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

void RunningProgram::Resize(TerminalSize size) const {
  const winsize now{.ws_row = size.rows, .ws_col = size.columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(out.get(), TIOCSWINSZ, &now);
}

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
  ssize_t got = recv(control.get(), &news, sizeof(news), 0);
  // Said first, and once, where the keeper had an order to read when it was done; its news is behind that.
  if (got < 0 && errno == ECONNRESET) got = recv(control.get(), &news, sizeof(news), 0);
  if (got != sizeof(news)) {
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

std::string RunningProgram::NextText() const {
  std::string text(kLongestText, '\0');
  const ssize_t got = recv(control.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text.empty() ? "its warm Python would not do" : text;
}

bool ProgramStart::OpenTerminal(TerminalSize size) {
  running.in.Take(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!running.in || grantpt(running.in.get()) != 0 || unlockpt(running.in.get()) != 0) return false;
  // By the descriptor, since its name need not lie in this process's /dev.
  theirs[kIn].Take(ioctl(running.in.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  const auto duplicate = [](const Descriptor& from, Descriptor& to) {
    to.Take(fcntl(from.get(), F_DUPFD_CLOEXEC, 0));
    return static_cast<bool>(to);
  };
  if (!theirs[kIn] || !duplicate(theirs[kIn], theirs[kOut]) || !duplicate(theirs[kIn], theirs[kErr]) ||
      !duplicate(running.in, running.out) || fcntl(running.in.get(), F_SETFL, O_RDWR | O_NONBLOCK) != 0) {
    return false;
  }
  running.Resize(size);
  return true;
}

bool ProgramStart::OpenPipes() {
  int ends[2];
  const auto open_pipe = [&](Descriptor& reader, Descriptor& writer, const Descriptor& ours) {
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    reader.Take(ends[0]);
    writer.Take(ends[1]);
    return fcntl(ours.get(), F_SETFL, O_NONBLOCK) == 0;
  };
  return open_pipe(theirs[kIn], running.in, running.in) && open_pipe(running.out, theirs[kOut], running.out) &&
         open_pipe(running.err, theirs[kErr], running.err);
}

absl::StatusOr<ProgramStart> ProgramStart::Of(const Program& program) {
  ProgramStart start;
  RunningProgram& running = start.running;
  int ends[2];
  start.theirs[kText] = FileWith(TextOf(program));
  const bool sockets = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
  if (sockets) {
    running.control.Take(ends[0]);
    start.theirs[kControl].Take(ends[1]);
  }
  if (!sockets || !start.theirs[kText] ||
      !(program.terminal ? start.OpenTerminal(*program.terminal) : start.OpenPipes())) {
    return absl::ResourceExhaustedError(
        absl::StrCat(program.terminal ? "no terminal for " : "no pipe for ", program.file, ": ", std::strerror(errno)));
  }
  return start;
}

std::vector<int> ProgramStart::numbers(const Descriptor& third) const {
  std::vector<int> numbers;
  for (const Descriptor& one : theirs) numbers.push_back(one.get());
  if (third) numbers.push_back(third.get());
  return numbers;
}

absl::StatusOr<KeeperNews> ProgramStart::Await(const Program& program, const std::function<bool()>& give_up) {
  for (Descriptor& one : theirs) one.Close();
  pollfd told{running.control.get(), POLLIN, 0};
  while (poll(&told, 1, static_cast<int>(kLookAtGivingUp.count())) == 0) {
    if (give_up()) return absl::CancelledError(program.file + " was cancelled before it had begun");
  }
  KeeperNews news;
  if (recv(running.control.get(), &news, sizeof(news), 0) != sizeof(news)) {
    return absl::UnavailableError(program.file + " was not started: its keeper is gone");
  }
  running.pid = news.pid;
  return news;
}

}  // namespace hotplate::server
