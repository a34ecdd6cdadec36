#include "server/net/listening_socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/base/status.h"

namespace hotplate::server {
namespace {

absl::Status CannotListen(const std::string& where, const std::string& why) {
  return absl::UnavailableError(ToAbsl("cannot listen on " + where + ": " + why));
}

void Set(int socket_, int level, int option, int value) { setsockopt(socket_, level, option, &value, sizeof value); }

// A descriptor, or -1 and errno.
int Listen(const sockaddr* address, socklen_t size, std::chrono::milliseconds unacknowledged) {
  const int made = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  if (address->sa_family != AF_UNIX) {
    Set(made, SOL_SOCKET, SO_REUSEADDR, 1);  // connections of an ended daemon are no obstacle
    Set(made, IPPROTO_TCP, TCP_NODELAY, 1);
    Set(made, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(unacknowledged.count()));
  }
  if (address->sa_family == AF_INET6) Set(made, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  // The owner's alone: on Linux, of a socket that is not bound yet it is the mode of the file to come.
  if (address->sa_family == AF_UNIX) fchmod(made, S_IRUSR | S_IWUSR);
  if (bind(made, address, size) == 0 && listen(made, SOMAXCONN) == 0) return made;
  const int error = errno;
  close(made);
  errno = error;
  return -1;
}

// Whether a program listens there. Replacing a unix socket only removes the file: its owner would listen in vain.
bool IsListenedAt(const sockaddr* address, socklen_t size) {
  const int made = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return false;
  const bool there = connect(made, address, size) == 0 || errno == EAGAIN;  // more wait for it than it takes
  close(made);
  return there;
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList ParseAddress(const std::string& address, std::uint16_t port) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) found = nullptr;
  return {found, freeaddrinfo};
}

}  // namespace

SocketFile::SocketFile(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return;
  path_ = path, device_ = facts.st_dev, inode_ = facts.st_ino;
}

void SocketFile::Remove() const {
  struct stat facts {};
  if (path_.empty() || stat(path_.c_str(), &facts) != 0) return;
  if (facts.st_dev == device_ && facts.st_ino == inode_) unlink(path_.c_str());
}

absl::StatusOr<ListeningSocket> ListeningSocket::OnTcp(const std::string& address, std::uint16_t port,
                                                       std::chrono::milliseconds unacknowledged) {
  const bool six = address.find(':') != std::string::npos;
  const std::string where = (six ? "[" + address + "]" : address) + ":" + std::to_string(port);
  // One socket of IPv6 for all there are; of IPv4 where the system has no other.
  const bool all = address == "0.0.0.0" || address == "::";
  int error = 0;
  for (const std::string& one : all ? std::vector<std::string>{"::", "0.0.0.0"} : std::vector<std::string>{address}) {
    const AddressList parsed = ParseAddress(one, port);
    if (!parsed) return CannotListen(where, "that is no numeric address");
    const int made = Listen(parsed->ai_addr, parsed->ai_addrlen, unacknowledged);
    if (made >= 0) return ListeningSocket(made, SocketFile());
    error = errno;
  }
  return CannotListen(where, std::strerror(error));
}

absl::StatusOr<ListeningSocket> ListeningSocket::OnUnix(const std::string& path) {
  const std::string where = "unix:" + path;
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) return CannotListen(where, std::strerror(ENAMETOOLONG));
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const auto* const place = reinterpret_cast<const sockaddr*>(&address);
  if (IsListenedAt(place, sizeof address)) return CannotListen(where, std::strerror(EADDRINUSE));
  struct stat facts {};
  if (stat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode)) unlink(path.c_str());
  const int made = Listen(place, sizeof address, {});
  if (made < 0) return CannotListen(where, std::strerror(errno));
  return ListeningSocket(made, SocketFile(path));
}

ListeningSocket::ListeningSocket(ListeningSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), file_(std::exchange(other.file_, {})) {}

ListeningSocket& ListeningSocket::operator=(ListeningSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(file_, other.file_);
  return *this;
}

ListeningSocket::~ListeningSocket() {
  file_.Remove();
  if (descriptor_ >= 0) close(descriptor_);
}

std::uint16_t ListeningSocket::port() const {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
  if (own.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(own).sin_port);
  if (own.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(own).sin6_port);
  return 0;
}

}  // namespace hotplate::server
