#include "server/allocation.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <charconv>
#include <memory>

namespace hotplate::server {
namespace {

std::optional<std::int64_t> Number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

Allocation ReadAllocation(const Surroundings& surroundings) {
  Allocation allocation;
  allocation.job_id = surroundings.environment("SLURM_JOB_ID").value_or("");
  if (allocation.job_id.empty()) return allocation;
  allocation.cluster = surroundings.environment("SLURM_CLUSTER_NAME").value_or("");
  allocation.restart_count =
      static_cast<std::uint32_t>(Number(surroundings.environment("SLURM_RESTART_COUNT")).value_or(0));
  // Seconds since 1970; only newer versions of Slurm set it.
  if (const auto end = Number(surroundings.environment("SLURM_JOB_END_TIME")); end && *end > 0 && *end < 1LL << 34) {
    allocation.end_time = std::chrono::system_clock::from_time_t(static_cast<time_t>(*end));
  }
  return allocation;
}

std::string NodeName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

std::vector<std::string> ReachableAddresses(const std::string& listen) {
  if (listen != "0.0.0.0" && listen != "::") return {listen};
  std::vector<std::string> found, loopback;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {"127.0.0.1"};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    char text[INET6_ADDRSTRLEN] = {};
    if (one->ifa_addr->sa_family == AF_INET) {
      inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    } else if (one->ifa_addr->sa_family == AF_INET6 && listen == "::") {
      const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(&address)) continue;  // means nothing without its interface
      inet_ntop(AF_INET6, &address, text, sizeof text);
    } else {
      continue;
    }
    ((one->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : found).push_back(text);
  }
  return found.empty() ? loopback : found;
}

}  // namespace hotplate::server
