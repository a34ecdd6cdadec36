// Listening sockets. Their options also hold for the accepted connections.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace hotplate::server {

// The file of a unix socket, told from another's that lies in its place by now.
class SocketFile {
 public:
  SocketFile() = default;                        // none
  explicit SocketFile(const std::string& path);  // of a socket that was bound just now

  void Remove() const;  // if it is there still

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Move-only owner. It does not wait in accept, and programs that are started do not inherit it.
class ListeningSocket {
 public:
  // `address`: numeric; 0.0.0.0 and :: are all there are, of IPv4 and of IPv6. `port` 0: any that is free. A connection
  // on which data stay unacknowledged for `unacknowledged` is ended. UNAVAILABLE says why not.
  static absl::StatusOr<ListeningSocket> OnTcp(const std::string& address, std::uint16_t port,
                                               std::chrono::milliseconds unacknowledged);
  // Replaces a socket without a listener. The file is removed with the owner.
  static absl::StatusOr<ListeningSocket> OnUnix(const std::string& path);

  ListeningSocket(ListeningSocket&& other) noexcept;
  ListeningSocket& operator=(ListeningSocket&& other) noexcept;
  ~ListeningSocket();

  int descriptor() const { return descriptor_; }
  std::uint16_t port() const;  // 0 for a unix socket

 private:
  ListeningSocket(int descriptor, SocketFile file) : descriptor_(descriptor), file_(std::move(file)) {}

  int descriptor_;
  SocketFile file_;
};

}  // namespace hotplate::server
