#include "server/net/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "kernels/array/quoted.h"
#include "kernels/base/mutex.h"
#include "kernels/base/status.h"

namespace hotplate::server {
namespace {

// A resolver that does not answer must not keep a daemon from starting.
constexpr std::chrono::seconds kResolverPatience{2};

struct InterfaceAddress {
  std::string interface, address;
  bool loopback = false, six = false;
};

// Numeric; empty for other families, and for link-local addresses, which mean nothing without their interface.
std::string TextOf(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address == nullptr) return "";
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&six)) inet_ntop(AF_INET6, &six, text, sizeof text);
  }
  return text;
}

std::vector<InterfaceAddress> OwnAddresses() {
  std::vector<InterfaceAddress> found;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    const std::string text = TextOf(one->ifa_addr);
    if (text.empty() || (one->ifa_flags & IFF_UP) == 0) continue;
    found.push_back({one->ifa_name, text, (one->ifa_flags & IFF_LOOPBACK) != 0, one->ifa_addr->sa_family == AF_INET6});
  }
  return found;
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList Resolve(const std::string& name) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_DGRAM;
  if (name.empty() || getaddrinfo(name.c_str(), "9", &wanted, &found) != 0) found = nullptr;
  return {found, freeaddrinfo};
}

// This node's address on the way to `peer`: a datagram socket that is connected sends nothing, but is routed.
std::string AddressTowards(const addrinfo& peer) {
  const int socket_ = socket(peer.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return "";
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  const bool routed = connect(socket_, peer.ai_addr, peer.ai_addrlen) == 0 &&
                      getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  close(socket_);
  return routed ? TextOf(reinterpret_cast<const sockaddr*>(&own)) : "";
}

// The resolver's answers so far.
struct Answers {
  Mutex mutex;
  CondVar more;
  std::vector<std::string> preferred ABSL_GUARDED_BY(mutex);
  bool complete ABSL_GUARDED_BY(mutex) = false;

  void Add(const std::vector<std::string>& addresses) {
    MutexLock lock(mutex);
    preferred.insert(preferred.end(), addresses.begin(), addresses.end());
  }
};

void AskResolver(const AddressHints& hints, Answers& answers) {
  for (const std::string& name : hints.names) {
    std::vector<std::string> found;
    const AddressList list = Resolve(name);
    for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) found.push_back(TextOf(one->ai_addr));
    answers.Add(found);
  }
  std::vector<std::string> found;
  const AddressList peers = Resolve(hints.client_host);
  for (const addrinfo* one = peers.get(); one != nullptr; one = one->ai_next) found.push_back(AddressTowards(*one));
  answers.Add(found);
}

// If the resolver does not answer about one name in time, the thread is left to itself and the other answers are used.
std::vector<std::string> PreferredSoon(const AddressHints& hints) {
  const auto answers = std::make_shared<Answers>();
  std::thread([answers, hints] {
    AskResolver(hints, *answers);
    MutexLock lock(answers->mutex);
    answers->complete = true;
    answers->more.NotifyAll();
  }).detach();
  const auto until = std::chrono::steady_clock::now() + kResolverPatience;
  MutexLock lock(answers->mutex);
  while (!answers->complete && answers->more.WaitUntil(answers->mutex, until)) {
  }
  return answers->preferred;
}

}  // namespace

std::string NodeName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

absl::StatusOr<std::string> AddressOfInterface(const std::string& name) {
  std::string six, others;
  for (const InterfaceAddress& one : OwnAddresses()) {
    if (one.interface == name && !one.six) return one.address;
    if (one.interface == name && six.empty()) six = one.address;
    others += (others.empty() ? "" : ", ") + one.interface + " (" + one.address + ")";
  }
  if (!six.empty()) return six;
  return absl::NotFoundError(ToAbsl("interface is " + Quoted(name) + ", and " + NodeName() +
                                    " has none of that name with an address; there are " + others));
}

std::vector<std::string> BestFirst(const std::vector<std::string>& own, const std::vector<std::string>& preferred) {
  std::vector<std::string> sorted;
  const auto add = [&sorted](const std::string& address) {
    if (std::find(sorted.begin(), sorted.end(), address) == sorted.end()) sorted.push_back(address);
  };
  for (const std::string& address : preferred) {
    if (std::find(own.begin(), own.end(), address) != own.end()) add(address);
  }
  for (const std::string& address : own) add(address);
  return sorted;
}

std::vector<std::string> ReachableAddresses(const std::string& listen, const AddressHints& hints) {
  if (listen != "0.0.0.0" && listen != "::") return {listen};
  std::vector<std::string> own, loopback, six;
  for (const InterfaceAddress& one : OwnAddresses()) {
    if (one.six && listen == "0.0.0.0") {
      if (!one.loopback) six.push_back(one.address);
    } else {
      (one.loopback ? loopback : own).push_back(one.address);
    }
  }
  if (own.empty()) own = six;  // 0.0.0.0 is all there are (listening_socket.h)
  if (own.empty()) return loopback.empty() ? std::vector<std::string>{"127.0.0.1"} : loopback;
  if (own.size() == 1) return own;
  return BestFirst(own, PreferredSoon(hints));
}

}  // namespace hotplate::server
