// The other end of a connection as gRPC names it: "ipv4:10.0.0.7:4711", "ipv6:%5B::1%5D:4711", "unix:".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hotplate::server {

// "10.0.0.7", "::1", or "unix" of a client on a socket of the node.
std::string AddressIn(std::string_view peer);
// 0: it has none.
std::uint16_t PortIn(std::string_view peer);

}  // namespace hotplate::server
