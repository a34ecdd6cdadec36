#include "server/net/acceptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/base/status.h"

namespace hotplate::server {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int kPauseMs = 100;
constexpr std::chrono::minutes kSilence(1);
// Descriptors that connections leave to files, and to the programs that the daemon starts.
constexpr std::uint64_t kReserve = 64;

std::uint64_t DescriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::min<std::uint64_t>(limit.rlim_cur, std::numeric_limits<int>::max());
}

// The peer gave up, or its network did: the next connection knows nothing of it.
bool IsOfOneConnection(int error) {
  for (const int one : {EAGAIN, EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH,
                        EOPNOTSUPP, ENETUNREACH, EPERM, ETIMEDOUT}) {
    if (error == one) return true;
  }
  return false;
}

std::string WhyTheyWait(int error, std::uint64_t limit) {
  const std::string sentence = "new connections wait: ";
  if (error == EMFILE) {
    return sentence + "of the " + std::to_string(limit) +
           " file descriptors that this daemon may have (ulimit -n) none is left for them";
  }
  if (error == ENFILE) return sentence + "this node has no file descriptors left (fs.file-max)";
  return sentence + std::strerror(error);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Start(ListeningSocket socket, Options options) {
  const int stop = eventfd(0, EFD_CLOEXEC);
  if (stop < 0) return absl::ResourceExhaustedError(ToAbsl(std::string("cannot accept: ") + std::strerror(errno)));
  return std::unique_ptr<Acceptor>(new Acceptor(std::move(socket), stop, std::move(options)));
}

Acceptor::Acceptor(ListeningSocket socket, int stop, Options options)
    : socket_(std::move(socket)),
      stop_(stop),
      options_(std::move(options)),
      limit_(DescriptorLimit()),
      end_of_room_(static_cast<int>(limit_ - std::min(kReserve, limit_ / 4))),
      thread_([this] { Loop(); }) {}

Acceptor::~Acceptor() {
  eventfd_write(stop_, 1);
  thread_.join();
  close(stop_);
}

void Acceptor::Loop() {
  for (;;) {
    pollfd ready[] = {{stop_, POLLIN, 0}, {socket_.descriptor(), POLLIN, 0}};
    poll(ready, 2, -1);
    if (ready[0].revents != 0) return;
    const int connection = accept4(socket_.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (connection < 0) {
      if (!IsOfOneConnection(errno) && !Pause(errno)) return;
      continue;
    }
    const int given = WithRoom(connection);
    if (given < 0) return;
    options_.take(given);
  }
}

int Acceptor::WithRoom(int connection) {
  // The system gives the lowest free number: a high one means that all below are taken.
  while (connection >= end_of_room_) {
    if (!Pause(EMFILE)) {
      close(connection);
      return -1;
    }
    const int other = fcntl(connection, F_DUPFD_CLOEXEC, 0);
    if (other < 0) continue;
    close(std::max(connection, other));
    connection = std::min(connection, other);
  }
  return connection;
}

// False: the end has come.
bool Acceptor::Pause(int error) {
  if (options_.warn && Steady::now() >= silent_until_) {
    options_.warn(WhyTheyWait(error, limit_));
    silent_until_ = Steady::now() + kSilence;
  }
  pollfd stop{stop_, POLLIN, 0};
  poll(&stop, 1, kPauseMs);
  return stop.revents == 0;
}

}  // namespace hotplate::server
