#include "server/net/drop_connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "kernels/base/descriptor.h"
#include "server/net/peer.h"

namespace hotplate::server {
namespace {

struct EndOfSocket {
  in6_addr address{};  // IPv4 as IPv6 has it
  std::uint16_t port = 0;

  bool operator==(const EndOfSocket& other) const {
    return port == other.port && std::memcmp(&address, &other.address, sizeof address) == 0;
  }
};

std::optional<EndOfSocket> EndFrom(const sockaddr_storage& storage) {
  EndOfSocket end;
  if (storage.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(storage);
    end.address = six.sin6_addr;
    end.port = ntohs(six.sin6_port);
  } else if (storage.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(storage);
    end.address.s6_addr[10] = end.address.s6_addr[11] = 0xff;
    std::memcpy(&end.address.s6_addr[12], &four.sin_addr, sizeof four.sin_addr);
    end.port = ntohs(four.sin_port);
  } else {
    return std::nullopt;
  }
  return end;
}

template <typename Ask>  // getpeername or getsockname
std::optional<EndOfSocket> EndOf(int descriptor, Ask ask) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (ask(descriptor, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  return EndFrom(storage);
}

std::optional<EndOfSocket> EndOfPeer(std::string_view peer) {
  std::string address = AddressIn(peer);
  address.resize(std::min(address.find('%'), address.size()));  // without the interface
  if (peer.starts_with("ipv4:")) address.insert(0, "::ffff:");
  EndOfSocket end;
  end.port = PortIn(peer);
  if (inet_pton(AF_INET6, address.c_str(), &end.address) != 1) return std::nullopt;
  return end;
}

}  // namespace

bool DropConnection(std::string_view peer, std::uint16_t port) {
  const std::optional<EndOfSocket> wanted = EndOfPeer(peer);
  if (!wanted) return false;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto is_it = [&](int descriptor) {
    const auto own = EndOf(descriptor, getsockname);
    return own && own->port == port && EndOf(descriptor, getpeername) == wanted;
  };
  for (int number = 0; number < static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20)); ++number) {
    if (!is_it(number)) continue;
    // Its owner may close it meanwhile, and the number be another's.
    const Descriptor same(fcntl(number, F_DUPFD_CLOEXEC, 0));
    if (!same || !is_it(same.get())) continue;
    const sockaddr nobody{AF_UNSPEC, {}};
    return connect(same.get(), &nobody, sizeof nobody) == 0;
  }
  return false;
}

}  // namespace hotplate::server
