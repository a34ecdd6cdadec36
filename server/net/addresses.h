// Where others reach this node: numeric addresses, the one that most likely works first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate::server {

// The host's own name.
std::string NodeName();

// The first numeric address of a network interface, IPv4 before IPv6. NOT_FOUND names those that are there.
absl::StatusOr<std::string> AddressOfInterface(const std::string& name);

struct AddressHints {
  std::vector<std::string> names;  // of this node, as other nodes may know it; the best first
  std::string client_host;         // where clients are likely to be; empty: not known
};

// The numeric addresses at which others reach a daemon that listens on `listen`: itself, or for 0.0.0.0 and :: the
// node's own: first what its names resolve to, then the one on the way to the clients' host, then the others; those of
// IPv6 for 0.0.0.0, and those of loopback, only where there are no others. Waits for the resolver, but for seconds at
// most, and goes by what it has said until then.
std::vector<std::string> ReachableAddresses(const std::string& listen, const AddressHints& hints);

// Those of `own` that are among `preferred` first, in the order of that, then the rest.
std::vector<std::string> BestFirst(const std::vector<std::string>& own, const std::vector<std::string>& preferred);

}  // namespace hotplate::server
