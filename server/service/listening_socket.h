// Sockets that listen. What is set on one holds for the connections that are accepted from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace hotplate::server {

// Move-only owner. It does not wait in accept, and programs that are started do not inherit it.
class ListeningSocket {
 public:
  // `address`: numeric; 0.0.0.0 and :: are all there are, of IPv4 and of IPv6. `port` 0: any that is free. A connection
  // on which data stay unacknowledged for `unacknowledged` is ended. UNAVAILABLE says why not.
  static absl::StatusOr<ListeningSocket> OnTcp(const std::string& address, std::uint16_t port,
                                               std::chrono::milliseconds unacknowledged);
  // In place of a socket that is there already; the file goes with the owner.
  static absl::StatusOr<ListeningSocket> OnUnix(const std::string& path);

  ListeningSocket(ListeningSocket&& other) noexcept;
  ListeningSocket& operator=(ListeningSocket&& other) noexcept;
  ~ListeningSocket();

  int descriptor() const { return descriptor_; }
  std::uint16_t port() const;  // 0 for a unix socket

 private:
  ListeningSocket(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_;
  std::string path_;  // of a unix socket
};

}  // namespace hotplate::server
