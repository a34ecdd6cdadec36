// Ends a connection whose descriptor belongs to somebody else.
#pragma once

#include <cstdint>
#include <string_view>

namespace hotplate::server {

// Resets this process's connection from a peer, as gRPC names it ("ipv4:10.0.0.7:4711"), to its own TCP port: data that
// came and were not read are gone. Its owner sees a broken connection, and closes it. False: there is none (any more).
bool DropConnection(std::string_view peer, std::uint16_t port);

}  // namespace hotplate::server
