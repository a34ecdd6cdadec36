#include "server/net/peer.h"

#include <charconv>

namespace hotplate::server {

std::string AddressIn(std::string_view peer) {
  const std::size_t colon = peer.find(':');
  const std::string_view family = peer.substr(0, colon);
  if (family != "ipv4" && family != "ipv6") return std::string(family);
  std::string_view address = peer.substr(colon + 1);
  address = address.substr(0, address.rfind(':'));  // without the port
  // gRPC writes brackets as a URI has to, and some of its versions as they are.
  for (const std::string_view bracket : {"%5B", "["}) {
    if (address.starts_with(bracket)) address.remove_prefix(bracket.size());
  }
  for (const std::string_view bracket : {"%5D", "]"}) {
    if (address.ends_with(bracket)) address.remove_suffix(bracket.size());
  }
  return std::string(address);
}

std::uint16_t PortIn(std::string_view peer) {
  std::uint16_t port = 0;
  const std::string_view digits = peer.substr(peer.rfind(':') + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return port;
}

}  // namespace hotplate::server
