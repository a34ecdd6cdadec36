// Where others reach this node: numeric addresses, the one that most likely works first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate::server {

// The host's own name.
std::string NodeName();

// The first numeric address of a network interface, IPv4 before IPv6. NOT_FOUND names the existing interfaces.
absl::StatusOr<std::string> AddressOfInterface(const std::string& name);

struct AddressHints {
  std::vector<std::string> names;  // of this node, by which other nodes may know it; the best first
  std::string client_host;         // where clients are likely to be; empty: unknown
};

// The numeric addresses at which others reach a daemon that listens on `listen`: that address, or for 0.0.0.0 and ::
// the node's own: first those that its names resolve to, then the one on the way to the clients' host, then the others.
// IPv6 addresses for 0.0.0.0, and loopback addresses, are used only if there are no others. Waits some seconds for the
// resolver at most, then uses its answers so far.
std::vector<std::string> ReachableAddresses(const std::string& listen, const AddressHints& hints);

// Reorders `own`: first those among `preferred`, in that order, then the rest.
std::vector<std::string> BestFirst(const std::vector<std::string>& own, const std::vector<std::string>& preferred);

}  // namespace hotplate::server
